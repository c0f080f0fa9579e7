import assert from "node:assert/strict";
import { test } from "node:test";
import { chatAnswer, chatRequest, guard, problemsOf, runCheck } from "../support/guardrails.ts";

/** Values of each kind, from public examples. */
const values: Readonly<Record<string, readonly string[]>> = {
  EMAIL_ADDRESS: ["jo@example.com", "jo.o'neil+tag@mail.example.co.uk", "jö@bücher.example", "a@b.c-d.org"],
  CREDIT_CARD: [
    "4111111111111111",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "3782-822463-10005",
    "5555.5555.5555.4444",
    "6011000990139424",
    "3530111333300000",
    "2223003122003222",
  ],
  IBAN: ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "fr1420041010050500013m02606", "NO93 8601 1117 947"],
  SSN: ["078-05-1120", "078 05 1120", "912-70-1234"],
  NATIONAL_ID: [
    "AB123456C",
    "AB 12 34 56 C",
    "12345678Z",
    "X1234567L",
    "RSSMRA85T10A562S",
    "1 85 05 78 006 084 91",
    "86095742719",
    "123.456.789-09",
    "2341 2341 2346",
    "ABCPE1234F",
    "11010519491231002X",
    "44051401359",
    "130-692-544",
    "811218-9876",
    "756.9217.0769.85",
  ],
  IP_ADDRESS: ["192.168.0.1", "8.8.8.8", "2001:db8::8a2e:370:7334", "fe80::1ff:fe23:4567:890a"],
  PHONE_NUMBER: [
    "+49 30 1234567",
    "+1 (415) 555-2671",
    "(415) 555-2671",
    "415.555.2671",
    "020 7946 0958",
    "06 12 34 56 78",
    "07911123456",
    "+8613812345678",
  ],
};

/** What only resembles a value. */
const plain = [
  "4111111111111112",
  "0000 0000 0000 0000",
  "NL91ABNA0417164301",
  "XX82WEST12345698765432",
  "000-12-3456",
  "078-05-112",
  "12345678A",
  "123.456.789-00",
  "256.1.1.1",
  "12:30:45",
  "std::vector and abc::def",
  "2024-01-31 10:30:00",
  "01/02/2024 10:30",
  "order 1234567890123",
  "a@b",
  "@handle and user@host",
  "3.14159265358979",
  "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
  "$1,234,567.89",
];

for (const [kind, list] of Object.entries(values)) {
  for (const value of list) {
    test(`pii finds ${value} as ${kind}, and replaces exactly it`, async () => {
      for (const [before, after] of [
        ["", ""],
        ["Ask: ", ", please."],
        ["(", ")\n"],
        ["说", "了"],
        ['{"note":"x\\n', '\\n"}'],
      ]) {
        // a letter beyond ASCII before an address of a mailbox could belong to it
        const text = `${before}${value}${after}`;
        const { result, outcome } = await runCheck("gateway.pii", { redact: true }, { text });
        assert.deepEqual(outcome.body, chatRequest(`${before}{{${kind}_1}}${after}`), text);
        assert.deepEqual([result?.verdict, result?.data?.entities], [true, { [kind]: 1 }]);
        assert.ok(!JSON.stringify(result).includes(value), "the result shows the value");
        const found = await runCheck("gateway.pii", { categories: [kind] }, { text });
        assert.deepEqual([found.result?.verdict, found.outcome.isTransformed], [false, false]);
      }
    });
  }
}

for (const text of plain) {
  test(`pii finds nothing in ${text}`, async () => {
    const { result } = await runCheck("gateway.pii", {}, { text });
    assert.deepEqual([result?.verdict, result?.data?.count], [true, 0]);
  });
}

test("pii numbers placeholders by kind, and equal values alike", async () => {
  const text = "a@x.org b@x.org a@x.org 8.8.8.8";
  const { outcome } = await runCheck("gateway.pii", { redact: true }, { text, answers: true });
  assert.deepEqual(
    outcome.body,
    chatAnswer("{{EMAIL_ADDRESS_1}} {{EMAIL_ADDRESS_2}} {{EMAIL_ADDRESS_1}} {{IP_ADDRESS_1}}"),
  );
});

test("pii looks for the chosen categories only", async () => {
  const { outcome } = await runCheck(
    "gateway.pii",
    { categories: ["IP_ADDRESS"], redact: true },
    { text: "a@x.org 8.8.8.8" },
  );
  assert.deepEqual(outcome.body, chatRequest("a@x.org {{IP_ADDRESS_1}}"));
});

test("pii with not passes only if there is a value", async () => {
  const verdictOf = async (text: string) => (await runCheck("gateway.pii", { not: true }, { text })).result?.verdict;
  assert.deepEqual([await verdictOf("8.8.8.8"), await verdictOf("none")], [true, false]);
});

test("pii refuses what it does not know", () => {
  for (const [parameters, message] of [
    [{ categories: ["PASSPORT"] }, /categories.0: must be one of EMAIL_ADDRESS/],
    [{ categories: [] }, /categories/],
    [{ redact: true, not: true }, /cannot have both redact and not/],
    [{ redact: "yes" }, /redact/],
  ] as const) {
    assert.match(problemsOf("gateway.pii", parameters).join(), message);
  }
});

test("pii that denies does not let through what it cannot replace", async () => {
  const request = {
    ...chatRequest("hello"),
    tools: [{ type: "function", function: { name: "mail", description: "writes to jo@example.com" } }],
  };
  const hook = { "gateway.pii": { redact: true }, deny: true };
  const { isDenied, results } = await guard([hook], { request });
  assert.equal(isDenied, true);
  assert.match(results[0]?.checks[0]?.error?.message ?? "", /outside the messages/);
  const mild = await guard([{ "gateway.pii": { redact: true } }], { request });
  assert.deepEqual([mild.isFailed, mild.results[0]?.checks[0]?.error?.message.includes("outside")], [false, true]);
});
