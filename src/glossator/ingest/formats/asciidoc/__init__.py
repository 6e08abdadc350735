"""AsciiDoc: sections, paragraphs, lists, blocks, tables and inline markup, as Asciidoctor and Antora show them."""
