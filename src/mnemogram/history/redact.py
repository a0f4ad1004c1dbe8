# SPDX-License-Identifier: MIT
"""A ready redactor: takes common shapes of secrets out of texts before they are stored.

It knows shapes, not meanings: keys with the prefixes their issuers give them, private
key blocks, tokens in headers and URLs, and values that are named as secrets and have the
shape of one. A name alone is none: prose about passwords, and code that reads a key from
somewhere, are kept. It is off unless the host passes it::

    mnemogram.open(root, redactor=redact_secrets)

``python -m bench.redaction`` measures it on two labelled lists.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Final

__all__ = ["redact_secrets"]

_MARK: Final = "[redacted {}]"
_MARKED: Final = "[redacted "

# Kind, literals of which one is in it, and the shape: prefixes as their issuers document
# them. What follows one must be no words. All take time linear in the text: no part that
# repeats may begin at many places of one run, nor two that follow each other match the same.
_ISSUED: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    (
        "API key",
        (
            "sk-",
            "pk-",
            "rk-",
        ),
        r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{20,}",
    ),
    (
        "API key",
        (
            "_live_",
            "_test_",
        ),
        r"\b(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}",
    ),
    (
        "API key",
        ("gsk", "pplx", "xai", "r8", "tvly", "pcsk", "lsv2", "nvapi", "fw"),
        r"\b(?:gsk|pplx|xai|r8|tvly|pcsk|lsv2_pt|lsv2_sk|nvapi|fw)[_-][A-Za-z0-9_-]{20,}",
    ),
    ("API key", ("AIza",), r"\bAIza[0-9A-Za-z_-]{35}"),
    ("token", ("ya29.",), r"\bya29\.[0-9A-Za-z_-]{20,}"),
    ("secret", ("GOCSPX-",), r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    ("secret", ("whsec_",), r"\bwhsec_[0-9A-Za-z+/=]{20,}"),
    (
        "AWS key",
        (
            "AKIA",
            "ASIA",
            "ABIA",
            "ACCA",
        ),
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    ),
    ("GitHub token", ("gh",), r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    ("GitHub token", ("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    ("GitLab token", ("gl",), r"\bgl(?:pat|ptt|dt|rt|cbt|soat|oas)-[A-Za-z0-9_-]{20,}"),
    (
        "Slack token",
        (
            "xox",
            "xapp-",
        ),
        r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    ),
    ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{50,}"),
    (
        "Hugging Face token",
        (
            "hf_",
            "api_org_",
        ),
        r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}",
    ),
    ("bot token", (":AA",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    ("token", ("dckr_",), r"\bdckr_[a-z]{3}_[A-Za-z0-9_-]{20,}"),
    ("token", ("fo1_", "fm1_", "fm2_"), r"\bf(?:o1|m1|m2)_[A-Za-z0-9+/=_-]{30,}"),
    ("secret", ("pscale_",), r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{30,}"),
    ("API key", ("rubygems_",), r"\brubygems_[0-9a-f]{48}\b"),
    ("API key", ("tskey-",), r"\btskey-[a-z]{2,8}-[A-Za-z0-9-]{20,}"),
    ("bot token", (".",), r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    ("API key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("API key", ("SK",), r"\bSK[0-9a-f]{32}\b"),
    ("API key", ("key-",), r"\bkey-[0-9a-f]{32}\b"),
    ("API key", ("-us",), r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    ("token", ("_v1_",), r"\bdo[por]_v1_[0-9a-f]{64}\b"),
    ("token", ("dapi",), r"\bdapi[0-9a-f]{32}\b"),
    ("token", ("shp",), r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    (
        "token",
        (
            "sq0",
            "EAAA",
        ),
        r"\b(?:sq0atp|sq0csp|EAAA)[-A-Za-z0-9_]{22,}",
    ),
    (
        "API key",
        ("lin_api_", "ntn_", "secret_", "figd_", "figu_", "sbp_", "nfp_", "vercel_", "rnd_"),
        r"\b(?:lin_api|ntn|(?:sb_)?secret|figd|figu|sbp|nfp|vercel|rnd)_[A-Za-z0-9_-]{30,}",
    ),
    (
        "token",
        (
            "hv",
            "dp.",
        ),
        r"\b(?:hvs|hvb|hvr|dp\.(?:pt|st|ct|sa))\.[A-Za-z0-9_-]{24,}",
    ),
    ("token", ("atlasv1",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}"),
    ("token", ("glsa_", "glc_"), r"\bgl(?:sa|c)_[A-Za-z0-9+/=_-]{32,}"),
    ("token", ("sntrys_", "sntryu_"), r"\bsntry[su]_[A-Za-z0-9+/=_-]{32,}"),
    ("API key", ("NRAK-", "NRII-"), r"\bNR(?:AK|II)-[A-Za-z0-9_-]{24,}"),
    ("API key", ("PMAK-", "PMAT-", "HRKU-"), r"\b(?:PMAK|PMAT|HRKU)-[A-Za-z0-9_-]{24,}"),
    (
        "token",
        (
            "ATATT3",
            "ATBB",
            "ATCTT3",
        ),
        r"\b(?:ATATT3|ATBB|ATCTT3)[A-Za-z0-9_=-]{24,}",
    ),
    ("token", ("pat",), r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b"),
    ("private key", ("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{50,}"),
)
_BLOCK: Final = re.compile(
    r"-----BEGIN (?P<label>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----(?! )"
    r"(?:(?!-----)[\s\S]){1,20000}(?:-----END (?P=label)-----)?"
)
#: From the start of a run, so that each is looked through once.
_JWT: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8})"
    r"([A-Za-z0-9_-]*?\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
_WEBHOOK: Final = re.compile(
    r"(https://(?:hooks\.slack\.com/services/|(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/"
    r"|[a-z0-9-]+\.webhook\.office\.com/webhookb2/))[A-Za-z0-9_@/.-]{20,}"
)
_SIGNED: Final = re.compile(
    r"(?i)([?&](?:sig|signature|x-amz-signature)=)(?!\[)([^\s&\"'<>]{16,500})"
)
_IN_URL: Final = re.compile(
    r"(\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'\"]{0,100}:)([^\s/@'\"]{1,200})(?=@)"
)

# --- what is named as a secret -----------------------------------------------------------

_PASSWORDS: Final = "password|passwd|passphrase|passcode|pwd"
_KEYS: Final = (
    r"secret(?:[_ -]?(?:access[_ -]?)?key)?|api[_ -]?(?:key|secret|token)|access[_ -]?(?:key|token)"
    r"|auth[_ -]?(?:key|token)|refresh[_ -]?token|client[_ -]?secret|private[_ -]?key"
    r"|bot[_ -]?token"
    r"|session[_ -]?(?:token|secret|key)|signing[_ -]?(?:key|secret)|encryption[_ -]?key"
    r"|(?:storage|subscription|consumer|webhook|deploy)[_ -]?(?:key|secret)"
    r"|shared[_ -]?(?:access[_ -]?key|secret)|account[_ -]?key|master[_ -]?key|service[_ -]?key"
)
_WEAK: Final = "token|credentials?|sess(?:ion)?id|auth|authorization|api_?hash"
_FOREIGN: Final = (
    "密码|密碼|口令|密钥|密鑰|パスワード|暗証番号|비밀번호|암호|пароль|секретный ключ"
    "|סיסמה|كلمة المرور|รหัสผ่าน|पासवर्ड|κωδικός"
)
_ABROAD: Final = (
    "contraseña|contrasena|clave secreta|senha|mot de passe|passwort|kennwort|parola|hasło|heslo"
    "|şifre|mật khẩu|wachtwoord|lösenord|salasana|jelszó|adgangskode"
)
#: How the names begin, in lower case.
_STEMS: Final = (
    *("pass", "pwd", "secret", "api", "access", "auth", "refresh", "client", "private", "bot"),
    *("sess", "signing", "encryption", "shared", "account", "master", "service", "token"),
    *("storage", "subscription", "consumer", "webhook", "deploy"),
    *("credential", *_FOREIGN.split("|"), *_ABROAD.split("|")),
)
_SCHEMES: Final = ("bearer", "basic", "token", "digest", "apikey")
_PHRASES: Final = ("seed", "recovery", "mnemonic", "secret")
_VALUE: Final = (
    r"(?:(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,500})(?=(?P=quote))"
    r"|(?P<inner>\\+[\"'])(?P<escaped>(?:(?!(?P=inner))[^\n]){0,500})(?=(?P=inner))"
    r"|(?P<bare>(?:[^\s\"'`,;<>&{}()|\[\]\\])(?:[^\s\"'`,;<>&]|&(?![\w.-]{1,40}=)){0,200}))"
)
#: What stands between a name and its value, where the value need not be spoken of.
_SIGN: Final = r"\\*[\"'`]?\]?[ \t]{0,40}(?:=>|:=|={1,3}|:|：|＝)[*_]{0,2}[ \t]{0,40}"
_SPOKEN: Final = (
    r"\s{0,4}(?:是|为|為|は|는|은)\s{0,4}[:：]?\s{0,4}"
    r"|[ \t]{0,4}\([ \t]{0,4}(?=[\"'])|[ \t]{1,4}(?=[\"'])"
    r"|[ \t]{1,4}(?:is|was|ist|war|lautet|es|era|est|é|è|foi|jest)[ \t]{0,4}:?[ \t]{1,4}"
)
_NAMED: Final = re.compile(
    rf"(?i)(?P<key>(?P<password>{_PASSWORDS})|(?P<strong>{_KEYS})|(?P<weak>{_WEAK})"
    rf"|(?P<foreign>{_FOREIGN})|(?P<abroad>{_ABROAD}))(?:(?P<sign>{_SIGN})|(?P<spoken>{_SPOKEN}))"
    + _VALUE
)
_FLAG: Final = re.compile(
    r"(?P<before>(?:^|\s)--?(?:password|passwd|pass|pwd|token|api-key|apikey|secret|auth-token"
    r"|access-token|client-secret)(?:=|[ \t]+))" + _VALUE
)
_USER: Final = re.compile(
    r"((?:^|\s)(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,100}:)([^\s\"']{4,200})"
)
_NETRC: Final = re.compile(r"(\blogin\s+\S{1,100}\s+password\s+)(\S{4,200})")
_TAG: Final = re.compile(
    rf"(?i)(<(?P<tag>[a-z_:.-]{{0,40}}(?:{_PASSWORDS}|{_KEYS}))>)([^<>\s]{{4,200}})(?=</)"
)
_HEADER: Final = re.compile(
    r"(?P<header>(?i:authorization|x-api-key|x-auth-token|api-key)[\"']?\s*[:=]\s*[\"']?)?"
    r"(?P<scheme>\b(?i:Bearer|Basic|Token|Digest|ApiKey)[ \t]+)"
    r"(?P<value>[A-Za-z0-9._~+/=-]{8,2000})"
)
_PHRASE: Final = re.compile(
    r"(?i)((?:seed|recovery|mnemonic|secret)(?: (?:phrase|words))?[ \t]*(?:is|=|:)[ \t]*[\"']?)"
    r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What stands for a value, or says what kind of value goes there.
_STANDS_FOR: Final = _words(
    """
    none null nil true false undefined empty unset default required optional invalid missing wrong
    incorrect expired hidden masked unknown todo tbd changeme change-me example sample dummy test
    string str text varchar char bytes number integer boolean bool object any secretstr secret
    password passwd passphrase token key value user username admin root login auth basic bearer
    apikey api_key api-key your yours here redacted removed deleted omitted encrypted plaintext
    hash hashed hashing input output prompt stdin file env environment vault keychain header
    cookie session manual auto automatic disabled enabled yes no on off n/a na - -- ... and or
    """
)
#: Words of prose and of what programs show; a passphrase has none of them.
_PROSE: Final = _words(
    """
    an the your my our his her their its this that these those is are was were be been must
    should can cannot could will would please enter confirm repeat forgot forgotten reset new old
    current invalid incorrect required too short long at least characters match matches not no in
    of to for and or with from on by as if when where what how password passwords token secret key
    it you we they i has have had does do use used using
    el la los las su tu una un es de que y con para por contraseña
    le les votre mot passe est une et pour avec du des
    das der die dein ihr ist ein eine und mit für passwort bitte
    """
)
_TECHNICAL: Final = re.compile(
    r"(?i)\b(?:base|sha|md|aes|rsa|utf|oauth|argon|pbkdf|bcrypt|scrypt|ed|x|iso|rfc|http|tls|ssl"
    r"|ipv|web|s|k|p|v|h|i|u|int|float|win|log|es|py)[-_]?\d{1,5}\b"
    r"|\b\d{1,5}[-_ ]?(?:bit|bits|byte|bytes|chars?|characters|digits?|days?|hours?|th|st|nd|rd)\b"
)
_EXPRESSION: Final = re.compile(
    r"[$%]?[A-Za-z_][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_][\w$]*)+!?"  # a.b
    r"|[A-Za-z_$][\w.$:>-]*[(\[].*"  # f(..., a[...
    r"|[$@%#~].*|[{<].*|.*\$\{.*|.*\{\{.*|.*%[sd](?![A-Za-z0-9]).*|.*<[a-z].*|\*+|[xX]{3,}.*|\.{2,}.*|-+|_+"
    r"|https?:.*|[./~][\w./-]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+"
    r"|[\w.+-]{1,64}@[\w-]{1,63}\.(?:com|org|net|io|edu|gov|cn|jp|de|fr|ru|kr|uk|eu)"
)
_PLACEHOLDER: Final = re.compile(r"(?i)(?:.*\b)?(?:your|my|some|the|insert|replace|enter)[-_ ].*")
#: Characters before a name in a line of settings, at most.
_LINE: Final = 200
_DIGIT: Final = re.compile(r"[0-9]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_SYMBOL: Final = re.compile(r"[!@#$%^&*?~|]")
_INNER_CAPITAL: Final = re.compile(r"[a-z][A-Z].*[a-z][A-Z]|[a-z][A-Z]{2}")
_RUN: Final = re.compile(r"[A-Za-z0-9+/]+")
_CASES: Final = re.compile(r"[a-z](?=[A-Z])|[A-Z](?=[a-z])")
_TURNS: Final = re.compile(r"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")
_COMPILED: Final = tuple((kind, within, re.compile(shape)) for kind, within, shape in _ISSUED)


def redact_secrets(text: str) -> str:
    """Return ``text`` with what has the shape of a secret replaced by ``[redacted KIND]``.

    Doing it twice changes nothing more.

    Args:
        text: any text.
    """
    text = _BLOCK.sub(_MARK.format("private key"), text)
    for kind, within, shape in _COMPILED:
        if any(each in text for each in within):
            text = shape.sub(_issued(_MARK.format(kind)), text)
    if ".eyJ" in text:
        text = _JWT.sub(rf"\1{_MARK.format('JWT')}", text)
    text = _WEBHOOK.sub(rf"\1{_MARK.format('secret')}", text)
    text = _SIGNED.sub(rf"\1{_MARK.format('signature')}", text)
    text = _IN_URL.sub(_address, text)
    lower = text.lower()
    if any(each in lower for each in _SCHEMES):
        text = _HEADER.sub(_header, text)
    if any(each in lower for each in _PHRASES):
        text = _PHRASE.sub(rf"\1{_MARK.format('secret')}", text)
    text = _without_named(text)
    text = _FLAG.sub(_flag, text)
    text = _USER.sub(_after("password"), text)
    text = _NETRC.sub(_after("password"), text)
    return _TAG.sub(_tag, text)


def _without_named(text: str) -> str:
    """Take out what is named as a secret; the names are looked for first, at memory's speed."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter that is two in lower case
        return _NAMED.sub(_named, text)
    places: set[int] = set()
    for stem in _STEMS:
        place = lower.find(stem)
        while place >= 0:
            places.add(place)
            place = lower.find(stem, place + 1)
    pieces: list[str] = []
    done = 0
    for place in sorted(places):
        found = _NAMED.match(text, place) if place >= done else None
        if found is not None:
            pieces += (text[done:place], _named(found))
            done = found.end()
    return "".join(pieces) + text[done:] if pieces else text


# --- the shape of a value ----------------------------------------------------------------


def _is_random(value: str) -> bool:
    """Whether no person wrote it: letters and digits in turns, not words with a number."""
    return any(
        len(run) >= 8
        and (
            len(_TURNS.findall(run)) >= 3
            or (run.isdigit() and len(run) > 8)
            or (len(run) >= 16 and not run.isalpha() and len(_DIGIT.findall(run)) > 1)
            or (_DIGIT.search(run) is not None and len(_CASES.findall(run)) >= 6)
        )
        for run in _RUN.findall(value)
    )


def _is_one_run(value: str) -> bool:
    """Whether letters and digits run on for longer than words do."""
    return any(len(run) >= 16 for run in _RUN.findall(value))


def _is_mixed(value: str) -> bool:
    """Whether it has what passwords have and words do not."""
    core = value.strip(".,;:!?()[]{}*_~`")
    if _TECHNICAL.search(core):
        return False
    letters, digits = bool(_LETTER.search(core)), bool(_DIGIT.search(core))
    return (letters and digits) or (bool(_SYMBOL.search(core)) and (letters or digits))


def _stands_for(value: str) -> bool:
    """Whether it says where a value comes from or what goes there, and is none."""
    return (
        value.startswith(_MARKED)
        or value.lower().strip(".:!?") in _STANDS_FOR
        or _EXPRESSION.fullmatch(value) is not None
        or _PLACEHOLDER.fullmatch(value) is not None
    )


def _is_prose(value: str) -> bool:
    words = value.lower().replace(",", " ").replace(".", " ").split()
    return any(each.strip("!?:;()") in _PROSE for each in words)


def _issued(mark: str) -> Callable[[re.Match[str]], str]:
    def change(found: re.Match[str]) -> str:
        value = found[0]
        issued = _is_random(value) or _is_one_run(value) or value.isupper()
        return mark if issued else value

    return change


def _after(kind: str) -> Callable[[re.Match[str]], str]:
    def change(found: re.Match[str]) -> str:
        return found[0] if _stands_for(found[2]) else f"{found[1]}{_MARK.format(kind)}"

    return change


def _address(found: re.Match[str]) -> str:
    value = found[2]
    plain = value.lower() in ("password", "pass", "secret", "pwd", "passwd", "pw", "token")
    if plain or value.startswith(("[", "<", "{", "$", "*", "%")) or _PLACEHOLDER.fullmatch(value):
        return found[0]
    return f"{found[1]}{_MARK.format('password')}"


def _header(found: re.Match[str]) -> str:
    value = found["value"]
    scheme = found["scheme"].strip().lower()
    if scheme == "basic":
        secret = _is_login(value)
    elif found["header"]:
        secret = len(value) >= 12 and not _stands_for(value)
    else:
        secret = len(value) >= 16 and _is_random(value)
    if not secret:
        return found[0]
    return f"{found['header'] or ''}{found['scheme']}{_MARK.format('token')}"


def _is_login(value: str) -> bool:
    """Whether it is a name and a password, as the scheme Basic sends them."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def _tag(found: re.Match[str]) -> str:
    if _stands_for(found[3]):
        return found[0]
    return f"{found[1]}{_MARK.format('secret')}"


def _flag(found: re.Match[str]) -> str:
    value, before = _value(found)
    if value is None or len(value) < 4 or value.startswith("-") or _stands_for(value):
        return found[0]
    if found["bare"] is not None and not _is_mixed(value):
        return found[0]
    return f"{found['before']}{before}{_MARK.format('secret')}"


def _value(found: re.Match[str]) -> tuple[str | None, str]:
    """Return what stands as the value, and the quote before it."""
    for quote, inside in (("quote", "quoted"), ("inner", "escaped")):
        if found[inside] is not None:
            return found[inside], found[quote]
    return found["bare"], ""


def _named(found: re.Match[str]) -> str:
    value, quote = _value(found)
    start = f"{found['key']}{found['sign'] or found['spoken']}{quote}"
    rest = ""
    if value is None or "==" in (found["sign"] or ""):
        return found[0]
    if quote:
        secret = _is_quoted_secret(found, value)
    else:
        bare, value = value, value.rstrip(".,;:)]}")
        if found["foreign"]:
            # Text of another script goes on where the value ends.
            value = value[: next((i for i, c in enumerate(value) if not "!" <= c <= "~"), None)]
        rest = bare[len(value) :]
        secret = _is_bare_secret(found, value)
    return f"{start}{_MARK.format('secret')}{rest}" if secret else found[0]


def _is_quoted_secret(found: re.Match[str], value: str) -> bool:
    if len(value) < 4 or _stands_for(value) or _is_name(value):
        return False
    if found["weak"]:
        return len(value) >= 16 and " " not in value and _is_random(value)
    words = value.split()
    if len(words) > 1:
        few = 3 if found["strong"] else 2
        return not _is_prose(value) and (
            _is_mixed(value) or (len(words) >= few and value.replace(" ", "").islower())
        )
    if found["spoken"]:
        return _is_mixed(value)
    return bool(found["password"]) or _is_mixed(value) or len(value) >= 8


def _is_name(value: str) -> bool:
    """Whether it is a name for a password in some language."""
    return re.fullmatch(f"(?i){_PASSWORDS}|{_FOREIGN}|{_ABROAD}", value) is not None


def _is_bare_secret(found: re.Match[str], value: str) -> bool:
    if len(value) < 4 or _stands_for(value) or _is_name(value):
        return False
    sign = (found["sign"] or "").strip()
    if found["weak"]:
        return bool(sign) and len(value) >= 16 and _is_random(value)
    if found["strong"]:
        plain = _is_mixed(value) and (_is_setting(found) or sign != ":")
        given = len(value) >= 6 and bool(sign) and (plain or _is_given(found))
        return given or (len(value) >= 12 and _is_random(value))
    if _is_mixed(value):
        return not value.lower().startswith(("password", "passwd", "pwd"))
    if value.isdigit():
        return 6 <= len(value) <= 20
    if found["foreign"]:
        # Latin letters in a text of another script are no words of it.
        return len(value) >= 6 and value.isalnum() and bool(sign)
    if found["abroad"] or not sign:
        return False
    if _INNER_CAPITAL.search(value) and sign in (":", "="):
        return "_" not in value and not value[0].isupper()
    return _is_given(found) or _is_setting(found)


def _is_given(found: re.Match[str]) -> bool:
    """Whether it is ``NAME=value`` without a space, as programs and forms are given values."""
    before = found.string[found.start() - 1 : found.start()]
    return found["sign"] == "=" and (found["key"].isupper() or before in ("&", "?", ";"))


def _is_setting(found: re.Match[str]) -> bool:
    """Whether a line of a file of settings has this name and this value, and no more."""
    text = found.string
    nearest = max(0, found.start() - _LINE)  # a longer line is no setting
    start = text.rfind("\n", nearest, found.start()) + 1
    if not start and nearest:
        return False
    line = text[start : found.start()].strip()
    after = text[found.end() : found.end() + 1]
    plain = (found["sign"] or "").strip() in (":", "=") and found["key"].islower()
    return plain and after in ("", "\n", "\r") and re.fullmatch(r"(?:- )?[\w.-]*", line) is not None
