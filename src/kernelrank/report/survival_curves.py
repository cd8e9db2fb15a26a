"""Survival curves: how long the items of each third of the scores last."""

from __future__ import annotations

import numpy as np

from kernelrank.base.labels import Lifetimes
from kernelrank.metrics import KaplanMeier
from kernelrank.report.picture import Picture, drawing
from kernelrank.report.writing import with_decimals, with_digits

__all__ = ["THIRDS", "survival_picture"]

THIRDS = ("lowest third", "middle third", "highest third")
STYLES = ("-", "--", "-")


def survival_picture(lifetimes: Lifetimes, third: np.ndarray, time_name: str) -> Picture:
    """Draw the Kaplan–Meier curve of each third of the scores.

    Parameters
    ----------
    lifetimes : Lifetimes
    third : ndarray of int, shape (m,)
    time_name : str
        What the times are called.
    """
    with drawing("survival") as canvas:
        told = []
        for number, (label, style, colour) in enumerate(zip(THIRDS, STYLES, (canvas.second, "0.5", "C0"), strict=True)):
            part = third == number
            curve = KaplanMeier.of(lifetimes.time[part], lifetimes.event[part])
            times, shares = np.append(0.0, curve.time), np.append(1.0, curve.survival)
            canvas.ax.step(times, shares, style, where="post", color=colour, label=label)
            told.append(f"the {label} ends at {with_decimals(shares[-1])}, {_median(curve)}")
        canvas.ax.set(xlabel=time_name, ylabel="share without the event", ylim=(0.0, 1.02), xlim=(0.0, None))
        canvas.ax.legend(title="held-out score")
        alt = f"Step plot of the share without the event over {time_name}, for thirds of the scores: {'; '.join(told)}."
        caption = (
            "Kaplan–Meier curves of the thirds of the held-out scores. Every item was scored by a model that was "
            "trained without its fold, and thirds are taken inside each fold."
        )
        return canvas.picture(alt, caption)


def _median(curve: KaplanMeier) -> str:
    median = curve.median()
    return "with no median time" if np.isinf(median) else f"with a median time of {with_digits(median)}"
