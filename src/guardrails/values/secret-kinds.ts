import { ascii, isWordCode, type ValueKind } from "./finder.ts";

/** Form of a token: what it begins with, and the sticky pattern of the rest. */
interface TokenForm {
  readonly prefixes: readonly string[];
  readonly rest: RegExp;
  /** Most characters of the rest. */
  readonly longest: number;
  /** Characters that may follow prefixes of less than three. */
  readonly next?: string;
  /** What follows must not continue it. Default: letters and digits. */
  readonly isOpen?: true;
}

/** Longest token whose form has no end. */
const openLength = 512;
/** Longest private key: RSA with 4,096 bits, in PEM. */
const longestSecret = 4_096;

/** A prefix and so many characters: the form of most tokens. */
function after(prefixes: string, characters: string, least: number, most = least): TokenForm {
  const rest = new RegExp(`(?:${characters}){${least},${most}}`, "y");
  return { prefixes: prefixes.split(" "), rest, longest: most };
}

const word = "[A-Za-z0-9]";
const wide = "[A-Za-z0-9_-]";
const hex = "[0-9a-f]";

/** An assignment of a value to one of several names. */
function assigned(names: string, value: string, most: number): TokenForm {
  return {
    prefixes: names.split(" "),
    rest: new RegExp(`["']?\\s{0,4}[:=]\\s{0,4}["']?${value}`, "y"),
    longest: most + 12,
  };
}

/** All up to the last line or, without it, what looks like lines of base64. */
const pemBody =
  "[A-Za-z0-9+/=:,.\\s\\\\-]{0,3800}?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:\\s|\\\\[nrt]|[A-Za-z0-9+/=]{16,76}){0,50}";

/**
 * Forms of credentials by kind. Each begins with what makes it recognisable; values without a form, such as
 * passwords, are not found.
 */
const forms: Readonly<Record<string, readonly TokenForm[]>> = {
  PRIVATE_KEY: [
    {
      prefixes: ["-----BEGIN "],
      rest: new RegExp(`(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:${pemBody})`, "y"),
      longest: longestSecret - 11,
      isOpen: true,
    },
    after("AGE-SECRET-KEY-1", "[A-Z0-9]", 58),
  ],
  JWT: [
    {
      prefixes: ["eyJ"],
      rest: new RegExp(`${wide}{8,1300}\\.eyJ${wide}{4,1900}\\.${wide}{0,800}`, "y"),
      longest: 4_020,
    },
  ],
  AWS_KEY: [
    after("AKIA ASIA ABIA ACCA", "[A-Z0-9]", 16),
    assigned(
      "aws_secret_access_key AWS_SECRET_ACCESS_KEY SecretAccessKey secretAccessKey aws_secret_key",
      "[A-Za-z0-9/+=]{40}",
      40,
    ),
    after("ABSK", "[A-Za-z0-9+/=]", 40, 180),
  ],
  GOOGLE_KEY: [after("AIza", wide, 35), after("GOCSPX-", wide, 28), after("ya29.", wide, 30, openLength)],
  AZURE_KEY: [assigned("AccountKey SharedAccessKey", "[A-Za-z0-9/+]{42,86}={0,2}", 88)],
  OPENAI_KEY: [after("sk-proj- sk-svcacct- sk-admin-", wide, 20, 220), after("sk-", word, 32, 64)],
  ANTHROPIC_KEY: [after("sk-ant-", wide, 20, 160)],
  MODEL_PROVIDER_KEY: [
    after("gsk_", word, 40, 64),
    after("xai-", word, 40, 100),
    after("pplx-", word, 40, 64),
    after("hf_ api_org_", word, 30, 48),
    after("r8_", word, 37),
    after("sk-or-v1- sk-or-", hex, 48, 64),
    after("nvapi-", wide, 60, 80),
    after("fw_", word, 22, 32),
    after("csk-", word, 40, 64),
    after("sk-", wide, 20, 220),
  ],
  GATEWAY_KEY: [after("gk_ scim_", "[0-9A-Za-z]{12}_[0-9A-Za-z]{20,60}", 1)].map((form) => ({ ...form, longest: 73 })),
  GITHUB_TOKEN: [after("ghp_ gho_ ghu_ ghs_ ghr_", word, 36, 255), after("github_pat_", "[A-Za-z0-9_]", 50, 255)],
  GITLAB_TOKEN: [after("glpat- gldt- glrt- glptt- glft- glagent- gloas- glcbt- glsoat-", "[A-Za-z0-9_.-]", 20, 300)],
  SLACK_TOKEN: [
    after("xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxo- xoxc- xoxd- xapp-", "[A-Za-z0-9%.-]", 20, 300),
    after("hooks.slack.com/services/ hooks.slack.com/workflows/", "[A-Za-z0-9/]", 30, 120),
  ],
  STRIPE_KEY: [after("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", word, 16, 255)],
  CHAT_TOKEN: [
    after("discord.com/api/webhooks/ discordapp.com/api/webhooks/", "[A-Za-z0-9/_-]", 60, 120),
    { prefixes: [..."123456789"], next: ascii.digits, rest: /\d{7,9}:AA[A-Za-z0-9_-]{33}/y, longest: 46 },
  ],
  MAIL_SERVICE_KEY: [
    { prefixes: ["SG."], rest: /[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}/y, longest: 97 },
    after("key-", hex, 32),
    after("xkeysib-", "[0-9a-f]{64}-[A-Za-z0-9]{16}", 1),
    { ...after("SK", hex, 32), next: "0123456789abcdef" },
    after("re_", "[A-Za-z0-9_]", 30, 48),
  ].map((form) => ({ ...form, longest: Math.max(form.longest, 97) })),
  PACKAGE_TOKEN: [
    after("npm_", word, 36),
    after("pypi-AgE", wide, 50, 255),
    after("rubygems_", hex, 48),
    after("dckr_pat_", wide, 27),
    after("AKCp", word, 69),
    after("oy2", "[a-z0-9]", 43),
    after("cio", word, 32),
  ],
  CLOUD_TOKEN: [
    after("dop_v1_ doo_v1_ dor_v1_", hex, 64),
    after("hvs. hvb. hvr.", wide, 24, 300),
    after("dapi", "[0-9a-h]", 32),
    after("sbp_ pscale_tkn_ pscale_oauth_ pscale_pw_", "[A-Za-z0-9_.-]", 32, 64),
    after("dp.pt. dp.st. dp.ct. dp.sa.", "[A-Za-z0-9._-]", 40, 80),
    after("fm2_ fm1_ fm1a_ fm1r_", "[A-Za-z0-9_+/=,-]", 60, openLength),
    after("HRKU-", wide, 36, 80),
    after("pul-", hex, 40),
    after("tskey-", "[A-Za-z0-9-]", 20, 80),
    after("ops_eyJ", wide, 100, openLength),
    after("LTAI", word, 12, 26),
  ],
  SERVICE_TOKEN: [
    after("shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]", 32),
    after("sq0atp- sq0csp- sq0idp-", wide, 22, 43),
    after("lin_api_ lin_oauth_", word, 32, 64),
    after("ntn_", word, 40, 60),
    after("ATATT3 ATCTT3 ATBB", "[A-Za-z0-9_=-]", 24, 220),
    after("PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}", 1),
    after("figd_ figo_ figu_", wide, 36, 64),
    { prefixes: ["pat"], rest: /[A-Za-z0-9]{14}\.[0-9a-f]{64}/y, longest: 79 },
    after("NRAK- NRJS- NRAA-", "[A-Za-z0-9]", 19, 48),
    after("glc_ glsa_", "[A-Za-z0-9_+/=-]", 30, 400),
    after("sntrys_ sntryu_", "[A-Za-z0-9_+/=-]", 60, 400),
    after("phx_ phc_", wide, 32, 64),
    after("EAAA", wide, 56, 68),
    after("access_token$production$", "[0-9a-z]{16}\\$[0-9a-f]{32}", 1),
  ].map((form) => ({ ...form, longest: Math.max(form.longest, 79) })),
  URL_PASSWORD: [
    {
      prefixes:
        "https:// http:// postgres:// postgresql:// mysql:// mongodb:// mongodb+srv:// redis:// rediss:// amqp:// amqps:// ftp:// sftp:// smtp:// libsql:// clickhouse:// mssql:// nats:// ldap:// ldaps://".split(
          " ",
        ),
      rest: /[^\s:@/?#"'<>]{0,100}:[^\s:@/?#"'<>{}$*]{1,200}(?=@)/y,
      longest: 304,
      isOpen: true,
    },
  ],
};

/** Where a token of one of the forms ends. */
function endOf(forms: readonly TokenForm[], text: string, at: number): number | undefined {
  let best: number | undefined;
  for (const { prefixes, rest, isOpen } of forms) {
    const prefix = prefixes.find((one) => text.startsWith(one, at));
    if (prefix === undefined) continue;
    rest.lastIndex = at + prefix.length;
    const found = rest.exec(text);
    if (!found || (!isOpen && isWordCode(text.charCodeAt(rest.lastIndex)))) continue;
    best = Math.max(best ?? 0, rest.lastIndex);
  }
  return best;
}

/** With what tokens begin: at least three characters. */
function beginningsOf({ prefixes, next = "" }: TokenForm): string[] {
  let beginnings = [...prefixes];
  while (beginnings.some(({ length }) => length < 3)) {
    beginnings = beginnings.flatMap((one) => (one.length < 3 ? [...next].map((character) => one + character) : [one]));
  }
  return beginnings;
}

/** The forms of a kind by the first three characters of their tokens. */
function byBeginning(forms: readonly TokenForm[]): ReadonlyMap<string, readonly TokenForm[]> {
  const found = new Map<string, TokenForm[]>();
  for (const form of forms) {
    for (const beginning of new Set(beginningsOf(form).map((text) => text.slice(0, 3)))) {
      found.set(beginning, [...(found.get(beginning) ?? []), form]);
    }
  }
  return found;
}

const noForms: readonly TokenForm[] = [];

function toKind(name: string, of: readonly TokenForm[]): ValueKind {
  const known = byBeginning(of);
  const longest = of.map(({ prefixes, longest }) => longest + Math.max(...prefixes.map(({ length }) => length)));
  return {
    name,
    beginnings: of.flatMap(beginningsOf),
    longest: Math.max(...longest),
    end: (text, at) => endOf(known.get(text.slice(at, at + 3)) ?? noForms, text, at),
  };
}

/** Kinds of credentials that have a form, by which text is searched. */
export const secretKinds: readonly ValueKind[] = Object.entries(forms).map(([name, of]) => toKind(name, of));
