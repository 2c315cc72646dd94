"""The playground at ``/``: the page's files, and the prompt it shows with the slots marked.

May import ``serve``, ``serve.formats``, ``decide`` and ``prompt``. The page asks through
``/v1/systemone`` like any other client; the server adds keys, limits and scheduling around its
operations.
"""

from thisthat.serve.page.files import page_operations
from thisthat.serve.page.prompt import prompt_operations

__all__ = ["page_operations", "prompt_operations"]
