"""The playground at ``/`` with its files and prompts, and the API page at ``/docs``.

May import ``serve``, ``serve.formats``, ``decide`` and ``prompt``. The page asks through
``/v1/systemone`` like any other client; the server adds keys, limits and scheduling around its
operations.
"""

from thisthat.serve.page.api import api_operations
from thisthat.serve.page.files import page_operations
from thisthat.serve.page.prompt import prompt_operations

__all__ = ["api_operations", "page_operations", "prompt_operations"]
