"""Recognises UTF-16 text, which `>` writes in Windows PowerShell."""

import codecs

HINT = "PowerShell's > writes UTF-16: use | Out-File -Encoding utf8, or run the command in cmd /c"


def is_utf16(data: bytes) -> bool:
    """Whether the data starts with a UTF-16 byte order mark, or with two ASCII characters in UTF-16 without one."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return not data.startswith(codecs.BOM_UTF32_LE)
    zeros = [byte == 0 for byte in data[:4]]
    return zeros in ([False, True, False, True], [True, False, True, False])
