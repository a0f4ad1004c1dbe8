# SPDX-License-Identifier: MIT
"""A second list, written after the rules.

At first sight the rules had a precision of 1.00 and a recall of 0.94 on it; the kinds that it
found missing were added since, so that it is held back no longer.

Each secret is made here from the published description of its form, and was never one. It
stands in the sentences and lines that people paste; what is harmless is prose and code of
six languages about the same matters.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from typing import Final

from bench.redaction.labelled import Secret

__all__ = ["HARMLESS", "secrets"]

_ALNUM: Final = string.ascii_letters + string.digits
_HEX: Final = "0123456789abcdef"


def _of(letters: str, count: int) -> Callable[[random.Random], str]:
    return lambda rng: "".join(rng.choice(letters) for _ in range(count))


def _after(prefix: str, letters: str, count: int) -> Callable[[random.Random], str]:
    return lambda rng: prefix + _of(letters, count)(rng)


def _b64(count: int) -> Callable[[random.Random], str]:
    return lambda rng: base64.b64encode(rng.randbytes(count)).decode()


def _jwt(rng: random.Random) -> str:
    head, body = (
        base64.urlsafe_b64encode(text).decode().rstrip("=")
        for text in (
            b'{"alg":"RS256","kid":"7"}',
            b'{"iss":"shop","exp":%d}' % rng.randrange(10**9),
        )
    )
    return f"{head}.{body}.{_of(_ALNUM + '-_', 86)(rng)}"


def _password(rng: random.Random) -> str:
    words = ("otter", "cobalt", "Brisket", "juniper", "Kestrel", "mosaic")
    return f"{rng.choice(words)}{rng.choice('!_@#%')}{rng.choice(words)}{rng.randrange(10, 99)}"


#: Kind, how one is made, and where it stands, with ``@`` for it.
_KINDS: Final[dict[str, tuple[Callable[[random.Random], str], tuple[str, str, str]]]] = {
    "OpenAI project key": (
        _after("sk-proj-", _ALNUM + "-_", 120),
        ("my key is @ thanks", "OPENAI_API_KEY=@\n", 'client = OpenAI(api_key="@")'),
    ),
    "Anthropic key": (
        _after("sk-ant-api03-", _ALNUM + "-_", 93),
        ("hier der Schlüssel: @", "curl -H 'x-api-key: @' api", "export ANTHROPIC_API_KEY=@"),
    ),
    "OpenRouter key": (
        _after("sk-or-v1-", _HEX, 64),
        ("@ stopped working", "key: @\n", '{"openrouter": "@"}'),
    ),
    "Google API key": (
        _after("AIzaSy", _ALNUM + "-_", 33),
        ("maps?key=@&q=x", "的密钥 @ 能用吗", 'const k = "@";'),
    ),
    "Groq key": (_after("gsk_", _ALNUM, 52), ("@", "GROQ=@", "use @ for now")),
    "AWS key id": (
        _after("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
        ("aws_access_key_id = @", "key @ leaked", '"AccessKeyId": "@",'),
    ),
    "AWS secret": (
        _of(_ALNUM + "/+", 40),
        (
            "aws_secret_access_key = @\n",
            "AWS_SECRET_ACCESS_KEY=@",
            '"SecretAccessKey": "@",',
        ),
    ),
    "GitHub token": (
        _after("ghp_", _ALNUM, 36),
        ("git clone https://@@github.com/a/b", "токен @ не работает", "GH_TOKEN=@"),
    ),
    "GitHub fine-grained token": (
        _after("github_pat_11", _ALNUM + "_", 80),
        ("@", "Authorization: Bearer @", "gh auth login with @"),
    ),
    "GitHub server token": (
        _after("ghs_", _ALNUM, 36),
        ("token=@", "x-access-token:@", "@ expired?"),
    ),
    "GitLab token": (
        _after("glpat-", _ALNUM + "-_", 20),
        ("PRIVATE-TOKEN: @", "oauth2:@ is in the url", "GITLAB_TOKEN: @"),
    ),
    "Slack bot token": (
        lambda r: (
            f"xoxb-{_of('0123456789', 12)(r)}-{_of('0123456789', 12)(r)}-{_of(_ALNUM, 24)(r)}"
        ),
        ("slack: @", "token '@'", "SLACK_BOT_TOKEN=@"),
    ),
    "Stripe key": (
        _after("sk_live_51", _ALNUM, 97),
        ("stripe.api_key = '@'", "@ ist scharf", "STRIPE_SECRET=@"),
    ),
    "Stripe restricted key": (_after("rk_live_", _ALNUM, 24), ("@", "use @", "k=@")),
    "npm token": (
        _after("npm_", _ALNUM, 36),
        ("//registry.npmjs.org/:_authToken=@", "NPM_TOKEN=@", "tok @"),
    ),
    "PyPI token": (
        _after("pypi-AgEIcHlwaS5vcmc", _ALNUM + "-_", 150),
        ("password = @", "twine upload -p @", "TWINE_PASSWORD=@"),
    ),
    "Hugging Face token": (
        _after("hf_", string.ascii_letters, 34),
        ("login(token='@')", "HF_TOKEN=@", "@ をください"),
    ),
    "SendGrid key": (
        lambda r: f"SG.{_of(_ALNUM + '-_', 22)(r)}.{_of(_ALNUM + '-_', 43)(r)}",
        ("SENDGRID_API_KEY=@", "@", "mail: '@'"),
    ),
    "Twilio key": (_after("SK", _HEX, 32), ("sid @", "TWILIO_API_KEY=@", "'@'")),
    "Mailgun key": (_after("key-", _HEX, 32), ("api:@", "MAILGUN=@", "'@'")),
    "Shopify token": (_after("shpat_", _HEX, 32), ("@", "X-Shopify-Access-Token: @", "t='@'")),
    "DigitalOcean token": (_after("dop_v1_", _HEX, 64), ("@", "DO=@", "doctl auth init -t @")),
    "Telegram token": (
        lambda r: f"{_of('123456789', 10)(r)}:AA{_of(_ALNUM + '-_', 33)(r)}",
        ("api.telegram.org/bot@/getMe", "BOT=@", "el token: @"),
    ),
    "Linear key": (_after("lin_api_", _ALNUM, 40), ("@", "LINEAR=@", "Authorization: @")),
    "Notion token": (_after("ntn_", _ALNUM, 46), ("@", "NOTION=@", "auth: '@'")),
    "Figma token": (_after("figd_", _ALNUM + "-_", 40), ("@", "X-Figma-Token: @", "f='@'")),
    "Databricks token": (_after("dapi", _HEX, 32), ("@", "DATABRICKS_TOKEN=@", "token = @")),
    "Vault token": (_after("hvs.", _ALNUM + "-_", 95), ("@", "VAULT_TOKEN=@", "X-Vault-Token: @")),
    "Grafana token": (
        lambda r: f"glsa_{_of(_ALNUM, 32)(r)}_{_of(_HEX, 8)(r)}",
        ("@", "GRAFANA=@", "Bearer @"),
    ),
    "Doppler token": (_after("dp.pt.", _ALNUM, 43), ("@", "DOPPLER_TOKEN=@", "use @")),
    "Docker token": (_after("dckr_pat_", _ALNUM + "-_", 27), ("@", "docker login -p @", "D=@")),
    "Fly token": (_after("fo1_", _ALNUM + "-_", 43), ("@", "FLY_API_TOKEN=@", "FlyV1 @")),
    "PlanetScale password": (
        _after("pscale_pw_", _ALNUM + "-_", 43),
        ("@", "mysql://u:@@aws.connect.psdb.cloud/d", "DATABASE_PASSWORD=@"),
    ),
    "Sentry token": (_after("sntryu_", _HEX, 64), ("@", "SENTRY_AUTH_TOKEN=@", "token=@")),
    "Postman key": (
        lambda r: f"PMAK-{_of(_HEX, 24)(r)}-{_of(_HEX, 34)(r)}",
        ("@", "X-Api-Key: @", "postman login --with-api-key @"),
    ),
    "Airtable token": (
        lambda r: f"pat{_of(_ALNUM, 14)(r)}.{_of(_HEX, 64)(r)}",
        ("@", "AIRTABLE=@", "Bearer @"),
    ),
    "JWT": (_jwt, ("Cookie: session=@", "Authorization: Bearer @", "jwt: @")),
    "basic login": (
        lambda r: base64.b64encode(b"deploy:" + _password(r).encode()).decode(),
        ("Authorization: Basic @", "'authorization': 'Basic @'", "-H 'Authorization: Basic @'"),
    ),
    "private key": (
        lambda r: "\n".join(_b64(48)(r) for _ in range(12)),
        (
            "-----BEGIN RSA PRIVATE KEY-----\n@\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN OPENSSH PRIVATE KEY-----\n@\n-----END OPENSSH PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----\n@\n-----END EC PRIVATE KEY-----",
        ),
    ),
    "database password": (
        _password,
        (
            "postgres://app:@@db:5432/x",
            "redis://:@@cache:6379/0",
            "amqp://u:@@mq/v",
        ),
    ),
    "password in settings": (
        _password,
        ("DB_PASSWORD=@\n", "password: @\n", '{"password": "@"}'),
    ),
    "password told": (
        _password,
        ("the wifi password is @", "我的密码是 @", "пароль: @"),
    ),
    "password told abroad": (
        _password,
        ("la contraseña es @", "das Passwort lautet @", "パスワードは @"),
    ),
    "Azure account key": (
        _b64(64),
        (
            "AccountName=a;AccountKey=@;EndpointSuffix=core.windows.net",
            "account_key = '@'",
            "AZURE_STORAGE_KEY=@",
        ),
    ),
    "client secret": (
        _of(_ALNUM, 40),
        ("client_secret=@&grant_type=x", 'clientSecret: "@",', "CLIENT_SECRET=@"),
    ),
}

_HARMLESS_TEXTS: Final = """
The password must contain at least twelve characters and one digit.
I forgot my password again; can you send me the reset link?
Where do I put the API key, in the header or in the query?
Tokens are counted per request: 4096 in, 512 out.
The secret ingredient is a spoonful of vinegar.
Basic arithmetic and token gestures are not enough.
Bearer bonds were outlawed in the eighties.
Her key argument was that access should be free.
The passphrase prompt appears twice; that is a known bug.
We authorise payments with a second factor since 2021.
Set `token: required` in the schema and rerun the validator.
The session key is derived with HKDF-SHA256 from both nonces.
His client secretly wished for rain.
Please rotate credentials every 90 days, as policy 7.3 says.
The commit is 3f2a9c1d7be04c55a1e0d9f8b6c7a4e2d1f0b9a8, on main.
Checksum: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
Request id 7d444840-9dc0-11d1-b245-5ffdce74fad2 timed out.
password = getpass.getpass("Password: ")
api_key = os.environ["SERVICE_API_KEY"]
token = next(tokenizer)
if token == "end": break
const secret = process.env.SECRET;
let password = String::new();
private_key_path: /etc/ssl/private/server.key
String apiKey = config.getString("api.key");
Authorization: Bearer <token>
curl -H "Authorization: Bearer $TOKEN" https://example.org
postgres://user:password@localhost/db
DB_PASSWORD=${DB_PASSWORD}
password: ""
secretKeyRef: {name: db, key: password}
auth: none
PASSWORD_MIN_LENGTH = 12
def check_password(password: str, hashed: bytes) -> bool:
SELECT token, expires_at FROM sessions WHERE user_id = ?
func (c *Client) SetToken(token string) { c.token = token }
token_type: bearer
grant_type=client_credentials
max_tokens=2048 temperature=0.7
key-value stores and keyboard shortcuts
the sk-learn pipeline and the sk-image filters
pk-field and sk-field name partition and sort keys
npm_config_registry points at the mirror
pypi-simple lists what an index holds
xoxo, see you on Friday
hf_transfer makes downloads faster
SG. stands for Singapore in that column.
key-frame-animation-with-css-and-svg
Das Passwort muss mindestens acht Zeichen haben.
Ich habe mein Passwort vergessen und komme nicht mehr hinein.
Der Schlüssel liegt unter der Matte, das Geheimnis bleibt.
Ein Token ist ein Stück Text, kein Geheimnis.
Das Kennwort wird verschlüsselt gespeichert: mit bcrypt.
Bitte Zugangsdaten nie im Klartext verschicken.
Passwort: bitte selbst wählen
Das Passwort ist falsch.
La contraseña debe tener ocho letras o más.
He olvidado mi contraseña y no puedo entrar.
El secreto de la sopa es el comino.
La clave secreta de su éxito es la paciencia.
La contraseña es incorrecta.
Contraseña: obligatoria
El token caduca a los 15 minutos.
Guarda las credenciales en un gestor.
Le mot de passe est trop court.
J'ai oublié mon mot de passe hier soir.
Mot de passe : obligatoire
Le secret est dans la sauce, pas dans la clé.
La clé privée reste sur la machine.
Le jeton expire après une heure.
密码至少要有八个字符，并且包含数字。
我忘记密码了，怎么重置？
密码：必填
密钥应该放在环境变量里，不要写进代码。
这个令牌每小时过期一次。
他的秘密是每天跑步。
密码是错误的，请重新输入。
请输入您的密码：
口令太短
パスワードは八文字以上にしてください。
パスワードを忘れてしまいました。
パスワード：必須
パスワードは間違っています。
秘密鍵はサーバーから出しません。
トークンは一時間で切れます。
鍵は机の上にあります。
Пароль должен содержать не меньше восьми знаков.
Я забыл пароль и не могу войти.
Пароль: обязательное поле
Секретный ключ хранится только на сервере.
Пароль неверный, попробуйте ещё раз.
Токен действует один час.
Ключ лежит под ковриком.
비밀번호는 여덟 자 이상이어야 합니다.
비밀번호를 잊어버렸어요.
비밀번호: 필수
비밀번호는 안전하게 보관하세요.
secret: true
"token": null,
access_token?: string;
@dataclass class Credentials: user: str; password: SecretStr
# TODO: remove the hard-coded password before release
export const TOKEN_EXPIRED = "token_expired";
assert response.json()["access_token"]
kubectl create secret generic db --from-file=password
ssh-rsa public keys go into authorized_keys
-----BEGIN PUBLIC KEY----- is what you may share.
The recovery phrase has twelve words; write them on paper.
secret santa: Friday, bring a gift under 15 euros
passwd is the command, /etc/passwd the file.
"""

HARMLESS: Final = tuple(line for line in _HARMLESS_TEXTS.splitlines() if line)


def secrets(seed: int = 20) -> Iterator[Secret]:
    """Yield each kind of secret in each of its places."""
    rng = random.Random(seed)
    for kind, (make, places) in _KINDS.items():
        for place in places:
            secret = make(rng)
            before, _, after = place.partition("@")
            yield Secret(kind, f"{before}{secret}{after}", secret, "")
