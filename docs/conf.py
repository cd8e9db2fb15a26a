"""How the documentation is built: ``sphinx-build -W -b html docs docs/_build/html``.

The pages load nothing from elsewhere: the theme brings its own files and system fonts, and no page has maths that a
script would have to set.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import kernelrank

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_style

project = "kernelrank"
copyright = "the kernelrank developers"
author = "The kernelrank developers"
version = release = kernelrank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.json"]
templates_path = ["_templates"]
default_role = "py:obj"
add_module_names = False
toc_object_entries = False

# Pages ----------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "kernelrank"
html_static_path = ["_static"]
html_css_files = ["kernelrank.css"]
html_js_files = ["copy_button.js"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Reference ------------------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# A file system may not tell AUC from auc.
autosummary_filename_map = {
    "kernelrank.metrics.auc": "kernelrank.metrics.auc_mean",
    "kernelrank.metrics.ndcg": "kernelrank.metrics.ndcg_mean",
}


def skip_foreign_members(_app: Any, _what: str, _name: str, member: Any, skip: bool, _options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: its words refer to pages of its own documentation."""
    home = getattr(inspect.unwrap(member), "__module__", None) if callable(member) else None
    foreign = isinstance(home, str) and not home.startswith("kernelrank")
    return True if foreign else skip


def unlink_measures(_app: Any, doctree: nodes.document) -> None:
    """Turn ndcg@10 back into text: it looks like the address of a person."""
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


# Gallery --------------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("gallery_style.apply",),
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "remove_config_comments": True,
    "backreferences_dir": None,
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "thumbnail_size": (640, 400),
}


def setup(app: Any) -> None:
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("doctree-read", unlink_measures)
