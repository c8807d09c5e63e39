"""Writes a file's bytes as a C++ constant.

    tools/embed.py FILE OUTPUT NAMESPACE NAME

OUTPUT defines `extern const std::string_view NAME` in the namespace.
"""

import sys


def main() -> None:
    source, output, namespace, name = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    rows = [", ".join(map(str, data[at:at + 24])) for at in range(0, len(data), 24)]
    text = (f"// Made by tools/embed.py.\n#include <string_view>\n\nnamespace {namespace} {{\n"
            f"extern const std::string_view {name};\n"
            f"static const unsigned char kBytes[] = {{\n" + ",\n".join(rows) + "};\n"
            f"const std::string_view {name}(reinterpret_cast<const char*>(kBytes), sizeof kBytes);\n"
            f"}}  // namespace {namespace}\n")
    with open(output, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main()
