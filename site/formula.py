"""Formulas as the sources write them ("w -= lr g + sqrt(2 lr / beta) xi"), turned into TeX for KaTeX.

The heads of the C files write formulas in ASCII, on indented lines. Greek letters have their names, sub- and
superscripts are a_i and a^{k-1}, words stay words. A line that begins further right continues the one above.
"""

import re

GREEK = (
    "alpha beta gamma delta eps epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
).split()
OPERATORS = {
    "max": r"\max", "min": r"\min", "exp": r"\exp", "log": r"\log", "cos": r"\cos", "sin": r"\sin", "tanh": r"\tanh",
    "sum": r"\sum", "prod": r"\prod", "argmax": r"\operatorname*{argmax}", "argmin": r"\operatorname*{argmin}",
}  # fmt: skip
SIGNS = {
    "<=": r"\le", ">=": r"\ge", "<-": r"\leftarrow", "->": r"\to", "...": r"\dots", "||": r"\|", "~": r"\sim",
    "{": r"\{", "}": r"\}", "%": r"\bmod", "==": "=", "+=": r"\mathrel{+}=", "-=": r"\mathrel{-}=", "#": r"\#",
    "&": r"\&", "$": r"\$", "*": r"\cdot", "\\": r"\backslash",
}  # fmt: skip
ACCENTS = {"hat": r"\hat", "bar": r"\bar", "tilde": r"\tilde"}
TOKEN = re.compile(r" +|<=|>=|<-|->|\.\.\.|\|\||==|\+=|-=|\d+(?:\.\d+)?(?:e-?\d+)?|[A-Za-z][A-Za-z0-9]*|.")
RELATION = re.compile(r"^\S.{0,60}?( = | ~ | <- | \+= | -= )")


def is_formula(lines):
    """Whether an indented block is one of formulas, rather than a table or a list."""
    first = lines[0].strip()
    relation = RELATION.match(first)
    if not relation:
        return first.startswith(("sum over", "mean ("))
    return len(re.findall(r"(?<![\w.])[a-z]{4,}", first[: relation.start(1)])) < 3


def to_tex(lines):
    """The lines of a block as one display formula."""
    least = min(len(line) - len(line.lstrip()) for line in lines)
    rows = []
    for line in lines:
        indent = len(line) - len(line.lstrip()) - least
        rows.append("&" + (r"\qquad " if indent else "") + _Line(line.strip()).tex())
    return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"


class _Line:
    def __init__(self, text):
        text = re.sub(r"<([^<>=]+?, [^<>=]+?)>", "\x01\\1\x02", text)  # an inner product
        text = re.sub(r" +(?=[=~] )", " ", text)  # columns of relations
        self.tokens, self.at = TOKEN.findall(text), 0

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def tex(self, closing=None):
        """Everything up to the closing bracket, or to the end of the line."""
        out = []
        while self.peek() and self.peek() != closing:
            out.append(self.part())
        if closing and self.peek():
            self.take()
        return " ".join(filter(None, out))

    def part(self):
        token = self.take()
        if token.isspace():
            return r"\quad" if len(token) > 1 else ""
        if token in "_^" and self.peek():
            return token + "{" + self.script() + "}"
        if token[0].isalpha():
            return self.word(token)
        if token == "\x01":
            return r"\langle " + self.tex("\x02") + r" \rangle"
        if token == "." and (self.peek().isspace() or self.peek() == "||") and self.peek(1) not in ("", " "):
            return r"\cdot"
        return SIGNS.get(token, token)

    def script(self):
        """What an underscore or a caret raises or lowers."""
        token = self.take()
        if token == "{":
            return self.tex("}")
        if token == "-" and (self.peek()[:1].isalnum()):
            return "-" + self.take()
        if not token[0].isalpha():
            return SIGNS.get(token, token)
        out = self.symbol(token) if token in GREEK or len(token) < 3 else r"\text{" + token + "}"
        while self.peek() == "'":
            out += self.take()
        if self.peek() == "_":  # Z_tau'_j: the index of tau'
            self.take()
            out += "_{" + self.script() + "}"
        return out

    def symbol(self, name):
        if name in ("eps", "epsilon"):
            return r"\epsilon"
        return "\\" + name if name in GREEK else name

    def word(self, name):
        if name == "sqrt" and self.peek() in ("(", "|"):
            bars = self.take() == "|"
            inner = self.tex("|" if bars else ")")
            return r"\sqrt{" + (f"|{inner}|" if bars else inner) + "}"
        if name == "sqrt" and self.peek() == " " and self.peek(1)[:1].isalpha():  # of one symbol
            self.take()
            return r"\sqrt{" + self.part() + "}"
        if name in OPERATORS:
            return OPERATORS[name]
        if name == "N" and self.peek() == "(":
            return r"\mathcal{N}"
        if self.peek() == "_" and self.peek(1) in ACCENTS:
            self.take()
            return ACCENTS[self.take()] + "{" + self.symbol(name) + "}"
        if name == "ybar":
            return self.marks(r"\bar{y}")
        letter, number = re.fullmatch(r"([A-Za-z]+)(\d*)", name).groups()
        if letter in GREEK or len(letter) == 1:
            return self.marks(self.symbol(letter) + (f"_{{{number}}}" if number else ""))
        if name == "in" and self.peek(1) in ("{", "[", "R"):
            return r"\in"
        if self.peek() == "(":
            return r"\operatorname{" + name + "}"
        return self.text(name)

    def marks(self, symbol):
        """A star or a minus that belongs to the symbol: a*, w-."""
        if self.peek() == "*" and not self.peek(1)[:1].isalnum():
            self.take()
            return symbol + "^{*}"
        if self.peek() == "-" and (self.peek(1) in (",", ";", ")") or self.peek(1) + self.peek(2) == " ="):
            self.take()
            return symbol + "^{-}"
        return symbol

    def text(self, name):
        """Words in a row as one text; names with underscores and dots stay whole."""
        words = " " + name if self.at > 1 and self.tokens[self.at - 2] == " " else name
        while True:
            if self.peek() in ("_", ".") and self.peek(1)[:1].isalpha():
                words += self.take().replace("_", r"\_") + self.take()
            elif self.peek() == " " and (self.is_word(1) or self.peek(1) == "a" and self.is_word(3)):
                words += self.take() + self.take()
            else:
                return r"\text{" + words + (" }" if self.peek() == " " else "}")

    def is_word(self, ahead):
        """Whether a token is a word of the language rather than a symbol or a function."""
        token = self.peek(ahead)
        is_symbol = token in GREEK or token in OPERATORS or token == "sqrt" or self.peek(ahead + 1) in ("(", "_", "^")
        return len(token) > 1 and token.isalpha() and not is_symbol
