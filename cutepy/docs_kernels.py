"""The Markdown fence of a kernel: its file, name and arguments in, a button that runs it on the reader's GPU out.

The first line is what `cutepy export` takes, and the lines after it are `key: value`: `set: name=value` for each
keyword argument, `sizes: x=(M,N)`, `caption: text`. The file is imported as the page is built: a fence is as trusted
as a script of the project.

    ```kernel
    kernels.py:softmax 16x300 16x300
    ```

`fence` is pymdownx's `format`, `validate` its `validator`. What is wrong stops the build.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Mapping
from html import escape

from .cli.kernels import kernel_call, sizing
from .docs import Markdown, inline, once_on_a_page, stop_build, validate
from .errors import DrawError
from .gpu.targets.export import as_script, fence_script, module_text

__all__ = ["fence", "validate"]


def fence(
    source: str, language: str, css_class: str, options: Mapping[str, object], md: Markdown, **others: object
) -> str:
    """The HTML of a fence: a button, what it says once it has run, the kernel's text, and the exported module as data.

    Raises pymdownx's SuperFencesException, which stops the build, for a kernel that is not found or not exported.
    """
    try:
        first, *lines = [line.strip() for line in source.splitlines() if line.strip()] or [""]
        said: dict[str, list[str]] = {"set": [], "sizes": [], "caption": []}
        for line in lines:
            key, colon, value = line.partition(":")
            if not colon or key not in said:
                raise DrawError(f"{line!r}: after the kernel come set: name=value, sizes: x=(M,N) and caption: text")
            said[key].append(value.strip())
        kernel, *arguments = shlex.split(first) or [""]
        call = kernel_call(Namespace(kernel=kernel, arguments=arguments, set=said["set"], tile=None))
        with call.traced():
            tested = call.kernel.tested(*call.arguments, sizes=sizing(said["sizes"]), **call.static)
        data = as_script({**tested.data(), "module": module_text([tested.function])})
    except Exception as error:  # pymdownx turns whatever it does not know into inline code, silently
        stop_build("kernel", source, md, error)
    text = "".join(f"<pre><code>{escape(wgsl)}</code></pre>" for wgsl in tested.function.texts)
    caption = inline(" ".join(said["caption"]), md)
    script = f"<script>{fence_script()}</script>" if once_on_a_page(md, "kernels") else ""
    name = escape(tested.function.name)
    html = (
        f'<div class="cutepy-run" data-kernel="{name}"><button type="button" hidden>Run {name} on your GPU</button>'
        f'{f"<p>{caption}</p>" if caption else ""}<p role="status"></p>'
        f'<pre class="cutepy-ran" tabindex="0" role="region" aria-label="Result of {name}" hidden></pre>'
        f"<details><summary>WGSL</summary>{text}</details>"
        f'<script type="application/json">{data}</script></div>{script}'
    )
    return html.replace("\n\n", "\n")  # a blank line would end the HTML block
