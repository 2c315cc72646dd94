"""The playground at ``/``: the page's files, and the prompt it shows with the slots marked.

The page asks the server through ``/v1/systemone`` like any other client. Nothing here knows of
keys, limits or the scheduler: the server adds them where it includes their operations.
"""

from thisthat.serve.page.files import page_operations
from thisthat.serve.page.prompt import prompt_operations

__all__ = ["page_operations", "prompt_operations"]
