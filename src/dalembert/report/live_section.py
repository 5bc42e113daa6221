"""The live section of an identification report: the reader can switch terms of the model off and on."""

from __future__ import annotations

from dalembert.identification.result import Identification
from dalembert.report.fit_data import RUNS, fit_data
from dalembert.report.html import PageProgram
from dalembert.web.bundle import encoded, packed, script, style

ABOUT = (
    '<section class="for-screen"><h2 id="live">Live: which terms matter</h2>'
    "<p>Switch terms of the model off and on. This page then redraws torques and residuals and recomputes the errors over every "
    "sample of the runs. <b>Keep</b> subtracts the torque of a term and keeps all other parameters unchanged; <b>refit</b> "
    "solves the equations of the identification again without it. {refit} A base parameter is switched with the one it is named "
    "after.{others}</p>"
    "<noscript><p class=notice>This section runs computations in the page and needs scripts; the other sections do not.</p></noscript>"
    '<div id="fit-live"></div></section>'
)
SAME = {
    "robust": "least squares with the weights that the robust identification gave to joints and samples",
    "energy": "least squares of the energy balances, as in the identification",
    "ordinary": "ordinary least squares, as in the identification",
}
OTHER = {
    "damped": "damped",
    "sequential": "done joint by joint",
    "total": "total least squares (its drive gains are kept)",
}


def live_section(fit: Identification) -> tuple[str, PageProgram | None]:
    """The section and its program; empty if a fit has no equations of its own."""
    if fit.solved is None:
        return "", None
    header, arrays = fit_data(fit)
    data = {"fit-header": packed(header), "fit-arrays": encoded(arrays)}
    others = f" Only the first {RUNS - 1} validation runs are included." if len(fit.validation) >= RUNS else ""
    return ABOUT.format(refit=_about_refit(fit), others=others), PageProgram(
        style("fit.css"), data, script("fit_main.js")
    )


def _about_refit(fit: Identification) -> str:
    """A description of the refit, and whether it reproduces the fit if no term is switched off."""
    if fit.physical or fit.method in OTHER:
        words = [OTHER[fit.method]] if fit.method in OTHER else []
        words += ["constrained to physically consistent links"] if fit.physical else []
        return (
            "The refit is unconstrained least squares with the weights that the identification gave to the joints. The "
            f"identification was {' and '.join(words)}, so a refit with all terms on differs from it."
        )
    kind = SAME.get(fit.method, "least squares with the joints weighted as in the identification")
    return f"The refit is {kind}: with all terms on it gives the same parameters."
