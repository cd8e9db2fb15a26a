"""The same examples every time: a run that fails can be repeated, and one that passes means the same tomorrow.

To look for new examples, run with ``--hypothesis-profile=search``.
"""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile("fixed")
