"""The parts of a page, as a browser finds them."""

import html.parser


class Parts(html.parser.HTMLParser):
    """What a browser would find: the texts of scripts and the style, by id or position, and the document's words."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.styles, self.words, self.tags, self.metas = {}, [], [], set(), []
        self._open = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "meta":
            self.metas.append(dict(attributes))
        if tag in ("script", "style"):
            self._open = (tag, dict(attributes).get("id", "program"), [])

    def handle_data(self, data):
        (self._open[2] if self._open else self.words).append(data)

    def handle_endtag(self, tag):
        if tag not in ("script", "style"):
            return
        kind, name, pieces = self._open
        self._open = None
        if kind == "script":
            self.scripts[name] = "".join(pieces)
        else:
            self.styles.append("".join(pieces))
