"""The metrics of a service, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter

__all__ = ["ServiceMetrics"]

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class ServiceMetrics:
    """Requests by path and status, their durations, and the items that were ranked.

    Examples
    --------
    >>> metrics = ServiceMetrics()
    >>> metrics.request("/rank", 200, 0.002)
    >>> print(metrics.text({"models": 1}).splitlines()[2])
    kernelrank_requests_total{path="/rank",status="200"} 1
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: Counter[float] = Counter()
        self._seconds = 0.0
        self.items = 0

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[path, status] += 1
        self._seconds += seconds
        for bound in BOUNDS:
            if seconds <= bound:
                self._durations[bound] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """Return all metrics as Prometheus text, with further values passed by the caller."""
        lines = _head("requests_total", "counter", "Requests by path and status.")
        for (path, status), number in sorted(self._requests.items()):
            lines.append(f'kernelrank_requests_total{{path="{path}",status="{status}"}} {number}')
        total = sum(self._requests.values())
        lines += _head("request_seconds", "histogram", "How long requests took.")
        lines += [f'kernelrank_request_seconds_bucket{{le="{bound}"}} {self._durations[bound]}' for bound in BOUNDS]
        lines.append(f'kernelrank_request_seconds_bucket{{le="+Inf"}} {total}')
        lines += [f"kernelrank_request_seconds_sum {self._seconds:.6f}", f"kernelrank_request_seconds_count {total}"]
        lines += [*_head("items_total", "counter", "Items that were ranked."), f"kernelrank_items_total {self.items}"]
        for name, value in gauges.items():
            lines += [*_head(name, "gauge", name.replace("_", " ").capitalize() + "."), f"kernelrank_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP kernelrank_{name} {what}", f"# TYPE kernelrank_{name} {kind}"]
