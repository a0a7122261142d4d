"""Kernels that leave Python: what a host needs to launch them, as data, an ES module and a page that tests itself.

Law: the module, its types and its page are made from the description alone, so whatever another host reads in the JSON
is what the page runs.
"""

from .describe import ExportedFunction, describe_programs, describe_recording
from .es_module import Export, description_text, export, module_text, types_text
from .page import TestedCall, as_script, fence_script, page_text, seeded

__all__ = [
    "Export", "ExportedFunction", "TestedCall", "as_script", "describe_programs", "describe_recording",
    "description_text", "export", "fence_script", "module_text", "page_text", "seeded", "types_text",
]  # fmt: skip
