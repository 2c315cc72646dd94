"""Sphinx settings of the site; `build.py` gathers the sources and runs it."""

from pathlib import Path

from thisthat import __version__

project = "thisthat"
author = "The thisthat authors"
copyright = "2026, the thisthat authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "lengths", "words"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["files"]
root_doc = "index"

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence"]
# The documents are read on GitHub too, where no header level is ever missing.
suppress_warnings = ["myst.header"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
default_role = "code"
# Quotes in help texts and docstrings are typed as they stand.
smartquotes = False
# Types of the standard library and of numpy have no page here; there is no network to ask theirs.
nitpick_ignore_regex = [("py:.*", ".*")]

html_theme = "furo"
html_title = f"thisthat {release}"
html_short_title = "thisthat"
html_static_path = ["static"]
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_css_files = ["site.css"]
html_js_files = ["access.js"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_favicon = "static/favicon.svg"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1d4ed8",
        "color-brand-content": "#1d4ed8",
        "color-brand-visited": "#6d28d9",
        "color-code-background": "#f6f8fa",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        "font-stack--monospace": "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#93b4ff",
        "color-brand-content": "#93b4ff",
        "color-brand-visited": "#c4b5fd",
        "color-code-background": "#1c2128",
    },
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"
