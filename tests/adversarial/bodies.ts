import { gzipSync } from "node:zlib";

/** A body, with what it is when it is decoded. */
export interface Body {
  bytes: Uint8Array;
  /** The JSON text, for the time it takes to be parsed and written once; absent where it is no JSON. */
  json?: string;
  headers?: Readonly<Record<string, string>>;
}

const encoder = new TextEncoder();
const megabyte = 2 ** 20;

function ofJson(json: string): Body {
  return { json, bytes: encoder.encode(json), headers: { "content-type": "application/json" } };
}

/** A JSON object that any unified route takes as far as it goes, with members behind it. */
const beginning =
  '{"model":"m","prompt":"Hello","input":"Hello","query":"q","documents":["a"],"max_tokens":9,"max_tokens_to_sample":9,' +
  '"voice":"v","state":"s","messages":[{"role":"user","content":"Hello"}],"contents":[{"parts":[{"text":"Hello"}]}],' +
  '"questions":{"a":{"type":"noul","instructions":"Is it?"}},"document":{"type":"document_url","document_url":"https://a.example/b"},"name":"n"';
const withMember = (member: string): Body => ofJson(`${beginning},${member}}`);
const repeat = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(",");

/** Kinds of body for routes that take JSON; each makes one of about so many bytes. */
export const jsonBodies: Readonly<Record<string, (bytes: number) => Body>> = {
  "nested too deep": (bytes) => {
    // engines take seconds to write its value: nobody may come that far
    const { json: _, ...body } = withMember(`"extra":${"[".repeat(bytes / 2)}${"]".repeat(bytes / 2)}`);
    return body;
  },
  "nested as deep as may be, again and again": (bytes) =>
    withMember(`"extra":[${repeat(Math.min(3_000, bytes / 128), () => `${"[".repeat(60)}${"]".repeat(60)}`)}]`),
  "one long text": (bytes) => withMember(`"user":"${"x".repeat(bytes)}"`),
  "a long text of escapes": (bytes) => withMember(`"user":"${"\\u0000\\n".repeat(bytes / 8)}"`),
  "a long text of names and backslashes": (bytes) => withMember(`"user":"${"key\\\\:".repeat(bytes / 6)}"`),
  "secret members": (bytes) => withMember(`"extra":[${repeat(Math.min(60_000, bytes / 16), () => '{"password":1}')}]`),
  "JSON in a string, nested too deep": (bytes) =>
    withMember(`"config":"${"[".repeat(bytes)}","string":"${"[".repeat(99)}"`),
  "a long text of backslashes": (bytes) => withMember(`"user":"${"\\\\".repeat(bytes / 2)}"`),
  "a long text of wide letters": (bytes) => withMember(`"user":"${"\u20ac".repeat(bytes / 3)}"`),
  "a text like tokens": (bytes) => withMember(`"user":"${"-eyJaaaaaaaa".repeat(bytes / 12)}"`),
  "a text like keys": (bytes) => withMember(`"user":"${"sk-aaaaaaaaaaaaaaaaaaaa_".repeat(bytes / 24)}"`),
  "many small members": (bytes) =>
    withMember(
      `"extra":[${repeat(Math.min(20, bytes / 60_000), () => `{${repeat(9_000, (index) => `"${index}":1`)}}`)}]`,
    ),
  "repeated names": (bytes) => withMember(repeat(Math.min(9_000, bytes / 8), () => '"a":1')),
  "a long list of zeros": (bytes) => withMember(`"extra":[${repeat(Math.min(199_000, bytes / 2), () => "0")}]`),
  "a list that is too long": (bytes) => withMember(`"extra":[${"0,".repeat(bytes / 2)}0]`),
  "a long list of long integers": (bytes) =>
    withMember(
      `"extra":[${repeat(Math.min(190_000, bytes / 20), (index) => `1234567890123${String(100_000 + index)}`)}]`,
    ),
  "a number of many digits": (bytes) => withMember(`"extra":${"9".repeat(bytes)}`),
  "a fraction of many digits": (bytes) => withMember(`"extra":0.${"9".repeat(bytes)}`),
  "a text that is not closed": (bytes) => ofJson(`{"a":"${"\\\\".repeat(bytes / 2)}`),
  "many messages": (bytes) => {
    const count = Math.min(30_000, bytes / 40);
    const messages = repeat(count, (index) => `{"role":"${index % 2 ? "assistant" : "user"}","content":"a ${index}"}`);
    return ofJson(`{"model":"m","max_tokens":9,"messages":[${messages}],"input":[${messages}]}`);
  },
  "many parts": (bytes) => {
    const parts = repeat(Math.min(30_000, bytes / 40), (index) => `{"type":"text","text":"a ${index}"}`);
    return ofJson(
      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[${parts}]}],"contents":[{"parts":[${parts}]}]}`,
    );
  },
  "many results of tools": (bytes) => {
    const count = Math.min(13_000, bytes / 400);
    const calls = repeat(
      count,
      (index) => `{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{}"}}`,
    );
    const results = repeat(count, (index) => `{"role":"tool","tool_call_id":"c${index}","content":"{}"}`);
    const items = repeat(count, (index) => `{"type":"function_call_output","call_id":"c${index}","output":"{}"}`);
    return ofJson(
      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[${calls}]},${results}],"input":[${items}]}`,
    );
  },
  "many tools": (bytes) => {
    const tools = repeat(
      Math.min(9_000, bytes / 120),
      (index) =>
        `{"type":"function","name":"f${index}","function":{"name":"f${index}","parameters":{"type":"object"}}}`,
    );
    return ofJson(
      `{"model":"m","max_tokens":9,"tools":[${tools}],"messages":[{"role":"user","content":"Hello"}],"input":"Hello"}`,
    );
  },
  "many inputs": (bytes) => {
    const texts = repeat(Math.min(100_000, bytes / 10), (index) => `"a ${index}"`);
    return ofJson(`{"model":"m","query":"q","input":[${texts}],"documents":[${texts}],"prompt":[${texts}]}`);
  },
  "compressed at a high ratio": (bytes) => {
    const { json = "", bytes: plain } = withMember(`"user":"${"x".repeat(bytes)}"`);
    return {
      json,
      bytes: gzipSync(plain),
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    };
  },
};

const boundary = "form-of-a-test";
const formType = { "content-type": `multipart/form-data; boundary=${boundary}` };
const part = (name: string, value: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (value: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n${value}\r\n`;
const ofForm = (parts: string): Body => ({ bytes: encoder.encode(`${parts}--${boundary}--\r\n`), headers: formType });

/** Kinds of body for routes that take forms. */
export const formBodies: Readonly<Record<string, (bytes: number) => Body>> = {
  "many parts": (bytes) =>
    ofForm(Array.from({ length: Math.min(50_000, bytes / 64) }, (_, index) => part(`a${index}`, "1")).join("")),
  "parts of one name": (bytes) => ofForm(part("model", "m") + part("a", "1").repeat(Math.min(990, bytes / 64))),
  "beginnings of boundaries": (bytes) =>
    ofForm(part("model", "m") + file(`\r\n--${boundary.slice(0, -1)}`.repeat(bytes / 18))),
  "a long head": (bytes) =>
    ofForm(`--${boundary}\r\nContent-Disposition: form-data; name="${"x".repeat(bytes)}"\r\n\r\n1\r\n`),
  "a long file": (bytes) => ofForm(part("model", "m") + part("prompt", "a") + file("x".repeat(bytes))),
  "line ends": (bytes) => ofForm(part("model", "m") + file("\r\n".repeat(bytes / 2))),
};

/** Headers in all kinds of length, for a small chat. */
export const headerCases: Readonly<Record<string, () => Readonly<Record<string, string>>>> = {
  "long metadata": () => ({ "x-gateway-metadata": `{${repeat(5_000, (index) => `"a${index}":"b"`)}}` }),
  "metadata of one long text": () => ({ "x-gateway-metadata": `{"a":"${"'".repeat(60_000)}"}` }),
  "metadata of single quotes": () => ({ "x-gateway-metadata": `{${"'a':'b',".repeat(7_000)}` }),
  "long baggage": () => ({ baggage: "a=b,".repeat(15_000) }),
  "baggage of percent signs": () => ({ baggage: `a=${"%E2%82%AC".repeat(6_000)}` }),
  "a long traceparent": () => ({ traceparent: "00-".repeat(20_000) }),
  "a long authorization": () => ({ authorization: `Bearer ${"-eyJaaaaaaaa".repeat(5_000)}` }),
  "a header like tokens": () => ({ "x-custom": "-eyJaaaaaaaa".repeat(5_000) }),
  "many headers": () =>
    Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`x-custom-${index}`, "a".repeat(20)])),
  "a long list of headers to forward": () => ({ "x-gateway-forward-headers": "a,".repeat(30_000) }),
  "a long list of sensitive headers": () => ({ "x-gateway-sensitive-headers": "a,".repeat(30_000) }),
  "a long provider": () => ({ "x-gateway-provider": "openai-".repeat(8_000) }),
  "a long config that is no JSON": () => ({ "x-gateway-config": "{".repeat(48_000) }),
  "a config that is nested deep": () => ({
    "x-gateway-config": `${'{"strategy":{"mode":"fallback"},"targets":['.repeat(1_000)}`,
  }),
};

/** Largest body of a JSON route, with some room. */
export const largestJson = 24 * megabyte;
