"""%assay PATH: the page of a run inside a notebook."""
import html
import os
import shlex

from IPython.core.magic import Magics as _Base, line_magic, magics_class
from IPython.core.display import HTML

from ._program import AssayError
from ._run import open as open_run


@magics_class
class Magics(_Base):
    @line_magic
    def assay(self, line: str) -> HTML:
        """%assay PATH... [HEIGHT]: show the page of a run; quotes hold names with spaces together."""
        words = [os.path.expanduser(word) for word in shlex.split(line)]
        height = int(words.pop()) if len(words) > 1 and words[-1].isdigit() else 800
        if not words:
            raise AssayError("usage: %assay PATH... [HEIGHT]")
        page = html.escape(open_run(*words).html(), quote=True)
        # a frame of its own: the page brings its own style and scripts and may not touch the notebook
        return HTML(f'<div><iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:{height}px;border:0" srcdoc="{page}"></iframe></div>')  # type: ignore[no-untyped-call, unused-ignore]
