"""The report on an identification: a static page in which names are text."""

from __future__ import annotations

import html
import warnings
from dataclasses import replace

import numpy as np

import dalembert as da
from dalembert.views.report.identification import identification_html

HOSTILE = '</script><img src=x onerror="document.title=1"><b>&'


def test_hostile_joint_names_are_text() -> None:
    arm = da.load("pendulum")
    (joint,) = arm.robot.joints
    arm = arm.replace(joints=(replace(joint, name=HOSTILE),))
    t = np.arange(0, 20.0, 0.005)
    q, qd, qdd = da.fourier([[[0.3, 0.1, -0.2]], [[-0.1, 0.2, 0.3]]], 0.2, duration=20.0)(t)
    tau = arm.inverse_dynamics(q, qd, qdd) + 30.0 * qd + np.random.default_rng(1).normal(size=q.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = da.identify(arm, {"t": t, "q": q, "qd": qd, "tau": tau}, selection=False, cutoff=5.0)
    page = identification_html(fit)
    assert html.escape(HOSTILE) in page and "<img" not in page and "<script" not in page
    assert page.count("<figure>") > 4
