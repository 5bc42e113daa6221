"""Reports: the requirements of a motion on an arm, as figures and as a single page.

import dalembert as da
from dalembert.views.report import figures

swing = da.study(arm, motion)
figures.assemble(figures.torque_panels(swing))  # a matplotlib Figure
da.write_report("report.html", [swing])         # the whole page
"""

from dalembert.views.report.report_page import report_html, write_report
from dalembert.views.report.study import Study, study

__all__ = ["Study", "report_html", "study", "write_report"]
