"""Sphinx: the site of docs/, with the pages that `orexis_docs` generates. `make docs` builds and checks it."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import orexis  # noqa: E402

project = "Orexis"
author = "The Orexis developers"
copyright = f"{author}; Apache-2.0"
version = release = orexis.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "orexis_docs.extension"]
exclude_patterns = ["_build"]
suppress_warnings = ["config.cache"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

smartquotes_action = "qe"  # quotes and ellipses; `--` is the beginning of an option
default_role = "literal"  # docstrings write `name` for code
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_mock_imports = ["stable_baselines3"]
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"Orexis {version}"
html_static_path = ["_static"]
html_css_files = ["orexis.css"]
html_extra_path = ["lifetime.html"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7fb4f0", "color-brand-content": "#7fb4f0"},
}
