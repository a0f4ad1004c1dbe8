# SPDX-License-Identifier: MIT
"""The labelled list: secrets of many kinds as they stand in conversations, and texts without.

No secret in it was ever one: each is made here, in the shape that its issuer documents.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

__all__ = ["HARMLESS", "Secret", "secrets"]

#: Secrets of each kind.
EACH: Final = 6

_ALNUM: Final = string.ascii_letters + string.digits
_HEX: Final = "0123456789abcdef"
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_WORDS: Final = (
    *("harbour", "candle", "velvet", "orchard", "tunnel", "meadow", "pepper", "anchor", "ribbon"),
    *("copper", "saddle", "walnut", "basket", "marble", "feather", "lantern", "cotton"),
    *("thunder", "willow", "pebble"),
)


class Secret(NamedTuple):
    """A text with a secret in it.

    Attributes:
        kind: what kind of secret it is.
        text: the text.
        secret: what must not be stored.
        keeps: a piece of the text that must be.
    """

    kind: str
    text: str
    secret: str
    keeps: str


def _some(rng: random.Random, letters: str, count: int) -> str:
    made = "".join(rng.choice(letters) for _ in range(count))
    if letters == _ALNUM:  # as a key of that length has them, all but surely
        made = f"{rng.choice(string.digits)}{rng.choice(string.ascii_letters)}{made[2:]}"
    return made


def _digits(rng: random.Random, count: int) -> str:
    return _some(rng, string.digits, count)


def _b64(rng: random.Random, count: int) -> str:
    return base64.b64encode(rng.randbytes(count)).decode()


def _url64(rng: random.Random, count: int) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(count)).decode().rstrip("=")


def _password(rng: random.Random) -> str:
    word = rng.choice(_WORDS)
    return rng.choice(
        (
            f"{word}{rng.randrange(10, 9999)}",
            f"{word.capitalize()}{rng.choice('!#$%&*+=?')}{rng.randrange(10, 99)}",
            f"{word[:4]}{rng.choice('!@$%*')}{rng.choice(_WORDS)[:4]}{rng.randrange(9)}",
            _some(rng, _ALNUM, 12),
        )
    )


_ISSUED: Final[dict[str, Callable[[random.Random], str]]] = {
    "OpenAI key": lambda r: f"sk-{_some(r, _ALNUM, 48)}",
    "OpenAI project key": lambda r: f"sk-proj-{_some(r, _ALNUM, 60)}_x1A9b8C7d6",
    "Anthropic key": lambda r: f"sk-ant-api03-{_some(r, _ALNUM, 80)}AA",
    "OpenRouter key": lambda r: f"sk-or-v1-{_some(r, _HEX, 64)}",
    "Google key": lambda r: f"AIza{_some(r, _ALNUM, 35)}",
    "Google token": lambda r: f"ya29.{_some(r, _ALNUM, 60)}",
    "Google client secret": lambda r: f"GOCSPX-{_some(r, _ALNUM, 28)}",
    "Stripe key": lambda r: f"sk_live_{_some(r, _ALNUM, 24)}",
    "Stripe webhook": lambda r: f"whsec_{_some(r, _ALNUM, 32)}",
    "AWS key id": lambda r: f"AKIA{_some(r, _BASE32, 16)}",
    "GitHub token": lambda r: f"ghp_{_some(r, _ALNUM, 36)}",
    "GitHub fine-grained": lambda r: f"github_pat_{_some(r, _ALNUM, 22)}_{_some(r, _ALNUM, 59)}",
    "GitLab token": lambda r: f"glpat-{_some(r, _ALNUM, 20)}",
    "Slack bot": lambda r: f"xoxb-{_digits(r, 12)}-{_digits(r, 12)}-{_some(r, _ALNUM, 24)}",
    "Slack app": lambda r: f"xapp-1-A{_some(r, _BASE32, 10)}-{_digits(r, 13)}-{_some(r, _HEX, 64)}",
    "npm token": lambda r: f"npm_{_some(r, _ALNUM, 36)}",
    "PyPI token": lambda r: f"pypi-AgEIcHlwaS5vcmc{_some(r, _ALNUM, 90)}",
    "Hugging Face token": lambda r: f"hf_{_some(r, _ALNUM, 34)}",
    "Telegram bot": lambda r: f"{r.randrange(10**8, 10**10)}:AA{_some(r, _ALNUM, 33)}",
    "Discord bot": lambda r: f"MT{_some(r, _ALNUM, 24)}.{_some(r, _ALNUM, 6)}.{_url64(r, 28)}",
    "SendGrid key": lambda r: f"SG.{_some(r, _ALNUM, 22)}.{_some(r, _ALNUM, 43)}",
    "Twilio key": lambda r: f"SK{_some(r, _HEX, 32)}",
    "Mailgun key": lambda r: f"key-{_some(r, _HEX, 32)}",
    "Mailchimp key": lambda r: f"{_some(r, _HEX, 32)}-us{r.randrange(1, 22)}",
    "DigitalOcean token": lambda r: f"dop_v1_{_some(r, _HEX, 64)}",
    "Databricks token": lambda r: f"dapi{_some(r, _HEX, 32)}",
    "Shopify token": lambda r: f"shpat_{_some(r, _HEX, 32)}",
    "Linear key": lambda r: f"lin_api_{_some(r, _ALNUM, 40)}",
    "Vault token": lambda r: f"hvs.{_some(r, _ALNUM, 90)}",
    "Groq key": lambda r: f"gsk_{_some(r, _ALNUM, 52)}",
    "Grafana token": lambda r: f"glsa_{_some(r, _ALNUM, 32)}_{_some(r, _HEX, 8)}",
    "New Relic key": lambda r: f"NRAK-{_some(r, _BASE32, 27)}",
    "Atlassian token": lambda r: f"ATATT3xFfGF0{_some(r, _ALNUM, 150)}",
    "age key": lambda r: f"AGE-SECRET-KEY-1{_some(r, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}",
    "JWT": lambda r: f"eyJ{_some(r, _ALNUM, 33)}.eyJ{_some(r, _ALNUM, 60)}.{_url64(r, 32)}",
}
_AROUND: Final = (
    "use {} for the calls, please",
    "那个密钥 {} 昨天换过了吗?",
    "export KEY={}\nnpm run start",
    'client = Client("{}")',
    "der Schlüssel {} läuft morgen ab",
    "la clave {} ya no funciona",
    "```\n{}\n```",
)
#: Forms in which a secret without a prefix is named: before, after, and what it is made of.
_NAMED: Final[dict[str, tuple[tuple[tuple[str, str], ...], Callable[[random.Random], str]]]] = {
    "password in prose": (
        (
            ("my password is ", ", keep it"),
            ("the wifi password: ", "\nsee you"),
            ("Passwort: ", " und los"),
            ("la contraseña es ", " desde ayer"),
            ("le mot de passe est ", " pour le site"),
            ("a senha é: ", " (não mude)"),
        ),
        _password,
    ),
    "password in other scripts": (
        (
            ("密码是", "，别忘了"),
            ("密碼：", " 明天換"),
            ("パスワードは", "です"),
            ("비밀번호: ", " 입니다"),
            ("пароль: ", " от сервера"),
            ("口令=", " 保存"),
        ),
        _password,
    ),
    "password in a file of settings": (
        (
            ("DB_PASSWORD=", "\nDB_HOST=x"),
            ("password: ", "\nhost: db1"),
            ("spring.datasource.password=", "\n"),
            ("[client]\npassword = ", "\nuser = me"),
            ("  - POSTGRES_PASSWORD=", "\n"),
            ("SMTP_PASS_PASSWORD: ", "\n"),
        ),
        _password,
    ),
    "password in JSON and code": (
        (
            ('{"password": "', '", "user": "me"}'),
            ("{'passwd': '", "'}"),
            ('{\\"password\\": \\"', '\\"}'),
            ('conn = connect(user="me", password="', '", db="x")'),
            ("const dbPassword = '", "';"),
            ("String password = `", "`"),
        ),
        _password,
    ),
    "passphrase": (
        (
            ('password="', '"'),
            ('{"passphrase": "', '"}'),
            ("secret = '", "'"),
            ('"wifi_password": "', '",'),
            ('passphrase => "', '",'),
            ('PASSPHRASE="', '"\n'),
        ),
        lambda r: " ".join(r.sample(_WORDS, 4)),
    ),
    "seed phrase": (
        (
            ("seed phrase: ", "\nthat is all"),
            ("my recovery phrase is ", ""),
            ("mnemonic = '", "'"),
            ("secret phrase: ", "\n"),
            ("mnemonic: ", "\n"),
            ("recovery words: ", "\n"),
        ),
        lambda r: " ".join(r.sample(_WORDS, 12)),
    ),
    "AWS secret": (
        (
            ("aws_secret_access_key = ", "\nregion = x"),
            ("AWS_SECRET_ACCESS_KEY=", "\n"),
            ('"SecretAccessKey": "', '",'),
            ('secretAccessKey: "', '",'),
            ("secret access key: ", "\n"),
            ('secret_key="', '")'),
        ),
        lambda r: _b64(r, 30),
    ),
    "API key by name": (
        (
            ("api_key=", "&q=rain"),
            ('"apiKey": "', '"'),
            ("API_KEY: ", "\n"),
            ("X-Api-Key: ", "\r\nHost: x"),
            ('api-key = "', '"'),
            ("api key is ", " on staging"),
        ),
        lambda r: _some(r, _ALNUM, 32),
    ),
    "token by name": (
        (
            ("access_token=", "&expires_in=3600"),
            ('"refresh_token": "', '"'),
            ('token: "', '"'),
            ("auth_token = '", "'"),
            ("BOT_TOKEN=", "\n"),
            ('"token":"', '"}'),
        ),
        lambda r: _some(r, _ALNUM, 40),
    ),
    "header": (
        (
            ("Authorization: Bearer ", "\r\nHost: x"),
            ("-H 'Authorization: token ", "' https://x"),
            ('headers={"Authorization": "Bearer ', '"}'),
            ("Bearer ", " is what it sent"),
            ("authorization=Bearer ", "\n"),
            ("Authorization: ApiKey ", "\n"),
        ),
        lambda r: _some(r, _ALNUM, 40),
    ),
    "basic login": (
        (
            ("Authorization: Basic ", "\n"),
            ("-H 'Authorization: Basic ", "'"),
            ('"Authorization": "Basic ', '"'),
            ("it sends Basic ", " each time"),
            ("authorization: basic ", "\r\n"),
            ("Proxy-Authorization: Basic ", "\n"),
        ),
        lambda r: base64.b64encode(f"{r.choice(_WORDS)}:{_password(r)}".encode()).decode(),
    ),
    "password in a URL": (
        (
            ("postgres://me:", "@db.example.org/x"),
            ("redis://:", "@cache:6379"),
            ("mongodb+srv://app:", "@c0.example.net"),
            ("https://bot:", "@git.example.org/a.git"),
            ("amqp://guest2:", "@mq"),
            ("DATABASE_URL=mysql://root:", "@localhost:3306/y"),
        ),
        lambda r: _some(r, _ALNUM, 14),
    ),
    "connection string": (
        (
            ("AccountName=x;AccountKey=", ";EndpointSuffix=core.example.net"),
            ("SharedAccessKey=", ";EntityPath=q"),
            ("Server=db;User Id=sa;Password=", ";Encrypt=true"),
            ("Server=db;Uid=x;Pwd=", ";"),
            ("AccountKey=", "\n"),
            ("client_secret=", "&grant_type=client_credentials"),
        ),
        lambda r: _b64(r, 33),
    ),
    "signed address": (
        (
            ("https://x.blob.example.net/a?sv=2022&sig=", "&se=2026"),
            ("https://b.example.com/k?X-Amz-Signature=", "&x=1"),
            ("https://x.example.org/f?signature=", ""),
            ("https://x.example.org/?a=b&access_token=", "&c=d"),
            ("wss://x.example.org/s?token=", ""),
            ("https://x.example.org/f?api_key=", "#top"),
        ),
        lambda r: _some(r, _HEX, 64),
    ),
    "webhook": (
        (("post to https://hooks.slack.com/services/", " then"),),
        lambda r: f"T{_some(r, _BASE32, 9)}/B{_some(r, _BASE32, 9)}/{_some(r, _ALNUM, 24)}",
    ),
    "command line": (
        (
            ("mysql -u root --password=", " shop"),
            ("curl -u admin:", " https://x"),
            ("tool login --token ", " --host x"),
            ("docker login -u me --password ", " registry.example.org"),
            ("machine git.example.org login me password ", "\n"),
            ("cli --api-key '", "' run"),
        ),
        lambda r: _some(r, _ALNUM, 20),
    ),
    "XML": (
        (
            ("<password>", "</password>"),
            ("<ns:apiKey>", "</ns:apiKey>"),
            ("<db.password>", "</db.password>"),
            ("<clientSecret>", "</clientSecret>"),
            ("<Passphrase>", "</Passphrase>"),
            ("<secret>", "</secret>"),
        ),
        _password,
    ),
}
_BLOCK: Final = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n-----END {0}PRIVATE KEY-----"


def secrets() -> Iterator[Secret]:
    """Yield the secrets, the same ones each time."""
    rng = random.Random(20_260_301)
    for kind, made in _ISSUED.items():
        for number in range(EACH):
            secret = made(rng)
            around = _AROUND[number % len(_AROUND)]
            yield Secret(kind, around.format(secret), secret, around.partition("{}")[0])
    for kind, (places, value) in _NAMED.items():
        for number in range(EACH):
            before, after = places[number % len(places)]
            secret = value(rng)
            yield Secret(kind, f"{before}{secret}{after}", secret, before)
    for number in range(EACH):
        label = ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ")[number % 6]
        body = "\n".join(_b64(rng, 48) for _ in range(6))
        text = f"here: {_BLOCK.format(label, body)}\nthanks"
        yield Secret("private key", text, body, "here: ")


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


#: Prose and code, of people and programs, without any secret.
HARMLESS: Final[tuple[str, ...]] = _lines(
    """
basic responsibilities of the team
Basic understanding of thermodynamics is enough
basic authentication is not used here
Token authentication/authorization flow
token classification with a small model
tokens per second went from 12 to 40
class sk-loading-spinner-wrapper-component
sk-learn is how some people write scikit-learn
my secret: patience and practice
the secret is in the dough
The Secret Garden is a novel of 1911
her password to success was stubbornness
the password is in the vault
the password is at least 12 characters long
passwords: why we still have them
password: required
Password: must have 8 to 64 characters
your password is expired, please set a new one
I forgot my password again
the password was reset by an administrator
password is hashed with bcrypt before it is stored
the api key is optional for local use
API key: see the page of your account
API keys are rotated every 90 days
the access token is sent with each request
bearer tokens expire after 3600 seconds
the bearer of this letter walked on
Bearer authentication is described in RFC 6750
Basic auth over TLS 1.3
private key cryptography began in the seventies
keep your private key private
client secret rotation, step by step
secret santa is on 12 December
passphrase: a few words that you remember
a passphrase is longer than a password
token by token, the model writes
key: value pairs are sorted
auth: oauth2 or none
authorization is a different question from authentication
cookie: chocolate chip with sea salt
credentials are read from the environment
session key exchange with curve25519
the signing key is rotated on 2026-01-01
access key for the bike shed: ask Maria
Sign in with a passcode or a fingerprint
the secret ingredient is 2 g of cardamom
commit 3f786850e387550fdab836ed7e6dc881de23001b
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
the file is 550e8400-e29b-41d4-a716-446655440000.png
sk-8 is a road in Slovakia
order AKIA123 was shipped
https://example.org:8080/path?page=2
https://user@example.org/repo.git
postgres://user:password@localhost/db is the form
ssh://git@example.org:22/a/b.git
see https://example.org/docs/tokens#access-token
ftp://anonymous:<your mail>@ftp.example.org
redis://:${REDIS_PASSWORD}@cache:6379/0
the meeting is at 10:30, room key-value-store
version sk-1.4.2 of the sketch
the team hf_members meets on Tuesday
the pypi-publish-action failed again
an npm_config_registry variable
key-based-routing-between-services
gsk_is_the_name_of_a_company_and_not_a_key
明天的密码锁要换电池
密码是什么?
密码学是一门很老的学科
请在设置里重置密码
密码至少需要八个字符
忘记密码怎么办
密码: 请输入您的密码
密码：必填
口令太短,请重新输入
密钥管理服务的文档在哪里
这把密钥是铜做的
令牌每小时过期一次
接口密钥请向管理员申请
他的秘密是每天早起
访问令牌有效期为3600秒
密码是string类型的字段
用户名和密码都不能为空
パスワードを忘れた場合はこちら
パスワードは8文字以上にしてください
パスワードは必須です
秘密鍵は安全な場所に保管してください
暗証番号は何桁ですか
トークンの有効期限は一時間です
彼女の秘密はよく眠ることだ
認証トークンの仕組みを説明して
비밀번호는 여덟 자 이상이어야 합니다
비밀번호를 잊어버렸어요
비밀번호는 암호화되어 저장됩니다
암호는 그대로 두세요
토큰이 만료되었습니다
API 키는 어디에서 발급받나요?
пароль не подошёл
пароль должен содержать не менее восьми символов
забыл пароль от почты
Пароль: обязательное поле
секрет прост: терпение и труд
ключ от квартиры под ковриком
токен истекает через час
пароль хранится в зашифрованном виде
das Passwort ist abgelaufen
Passwort: mindestens zwölf Zeichen
Passwort vergessen?
das Passwort ist im Tresor
der geheime Schlüssel liegt unter der Matte
mein Geheimnis: Geduld und Übung
das Token läuft nach einer Stunde ab
Kennwort erforderlich
Zugangsdaten bitte beim Empfang holen
contraseña: obligatoria
la contraseña es demasiado corta
olvidé mi contraseña
la contraseña es la misma para todos
contraseña incorrecta, inténtelo de nuevo
mi secreto: paciencia y práctica
el token caduca en una hora
mot de passe : obligatoire
le mot de passe est trop court
mot de passe oublié ?
mon secret : la patience
le jeton expire dans une heure
la clé est sous le paillasson
a senha é obrigatória
esqueci a minha senha
a senha precisa de oito caracteres
la parola è d'argento, il silenzio è d'oro
parola: ordine del giorno
hasło musi mieć osiem znaków
mật khẩu phải có ít nhất tám ký tự
şifre en az sekiz karakter olmalı
كلمة المرور قصيرة جدا
def login(password: str) -> bool:
def check(user, password=None):
password = getpass.getpass("Password: ")
password = input("password? ")
API_KEY=process.env.KEY
api_key = os.environ["OPENAI_API_KEY"]
api_key=os.getenv("API_KEY")
api_key=settings.api_key
set api_key=${API_KEY} first
token = request.headers.get("Authorization")
token: str | None = None
secret = Secret.from_name("db-credentials")
if password == "": raise ValueError
assert password != old_password
self.password = password
user.password = hash_password(password)
password=args.password,
password: Optional[str] = Field(default=None)
secret_key: SecretStr
client_secret = config.client_secret
"password": {"type": "string", "minLength": 8}
"password": "Passwort"
"password": "Enter your password"
"passwordLabel": "Your password"
'password': 'The password must be at least 8 characters',
"forgotPassword": "Forgot your password?"
{"token": null, "password": null}
{"token_type": "bearer", "expires_in": 3600}
{"max_tokens": 4096, "total_tokens": 12345678}
{"secretName": "db-credentials-v2"}
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
max_tokens=1024, token_count=123456789
next_page_token = response.next_page_token
const token = useToken();
const apiKey = import.meta.env.VITE_API_KEY;
const { password } = req.body;
const password = document.querySelector("#password").value;
password: process.env.DB_PASSWORD,
password: string;
apiKey?: string;
token: ${{ secrets.GITHUB_TOKEN }}
env: { API_KEY: ${{ secrets.API_KEY }} }
export default { secret: process.env.SECRET }
interface Login { user: string; password: string }
type Secret = { name: string; value: string };
let token = tokens[i];
headers: { Authorization: `Bearer ${token}` }
headers["Authorization"] = "Bearer " + accessToken;
fetch(url, { credentials: "include" })
<input type="password" name="password" placeholder="Password">
<label for="password">Password</label>
<password>${db.password}</password>
<SecretKey>{{ secret_key }}</SecretKey>
<token>string</token>
password := os.Getenv("DB_PASSWORD")
token, err := r.Cookie("session")
cfg.Password = flag.String("password", "", "the password")
func Login(user, password string) error {
type Config struct { APIKey string `json:"api_key"` }
apiKey := cfg.APIKey
String password = System.getenv("DB_PASSWORD");
private String password;
private static final String SECRET = "secret";
@Value("${spring.datasource.password}") String password;
config.setPassword(password);
if (token == null) { return unauthorized(); }
PASSWORD="$1"
PASSWORD=$(cat /run/secrets/db)
export TOKEN="${TOKEN:-}"
read -s -p "Password: " password
DB_PASSWORD=<your password>
DB_PASSWORD=changeme
API_KEY=your-api-key-here
API_KEY=xxxxxxxxxxxxxxxx
SECRET_KEY=********
curl -H "Authorization: Bearer $TOKEN" https://example.org
curl -u "$USER:$PASSWORD" https://example.org
mysql --password="$DB_PASSWORD" shop
docker login --password-stdin registry.example.org
kubectl create secret generic db --from-file=password.txt
git config credential.helper store
ssh-keygen -t ed25519 -C "me@example.org"
openssl rand -base64 32
password_file: /run/secrets/db_password
secretKeyRef: { name: db, key: password }
password: "{{ vault_db_password }}"
password: !vault |
password: ENC(...)
api_key: null
token: ""
SELECT password FROM users WHERE id = 1;
ALTER USER me WITH PASSWORD NULL;
CREATE TABLE users (id INTEGER, password TEXT NOT NULL);
UPDATE users SET token = NULL WHERE token IS NOT NULL;
password VARCHAR(255) NOT NULL,
let password: String = args.next().unwrap();
pub struct Login { pub user: String, pub password: SecretString }
let token = lexer.next_token();
enum Token { Plus, Minus, Number(f64) }
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me
integrity sha512-oRFyEXNqOcGQdC4E0XHnXsVYV9eJ1xJHkSvkzDqWwqUfYMsQ1dQ3yS4NqUuHzGzB5Zg==
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ
<button class="token-input-wrapper sk-button-primary-large">
.sk-fading-circle-animation-delay { animation-delay: 1s }
{{ password | default('') }}
password.length >= 8 && /[0-9]/.test(password)
"error": "invalid_token", "error_description": "token is expired"
raise AuthenticationError("token: expired at 2026-01-01")
Token: IDENT(foo) at line 3, column 14
"""
)
