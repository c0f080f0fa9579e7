import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, runCheck } from "../support/guardrails.ts";

const tags: Readonly<Record<string, readonly string[]>> = {
  SQL: ["sql"],
  Python: ["py", "python", "gyp"],
  TypeScript: ["ts", "tsx", "typescript"],
  JavaScript: ["js", "jsx", "javascript"],
  Java: ["java"],
  "C#": ["cs", "csharp", "c#"],
  "C++": ["cpp", "c++"],
  C: ["c"],
  Ruby: ["rb", "ruby"],
  PHP: ["php"],
  Swift: ["swift"],
  Kotlin: ["kt", "kotlin"],
  Go: ["go", "golang"],
  Rust: ["rs", "rust"],
  Scala: ["scala"],
  R: ["r"],
  Perl: ["pl", "perl"],
  Shell: ["sh", "shell", "bash"],
  HTML: ["html"],
  CSS: ["css"],
  XML: ["xml"],
  JSON: ["json"],
  YAML: ["yml", "yaml"],
  Markdown: ["md", "markdown"],
  Dockerfile: ["dockerfile", "Dockerfile"],
};
const others = Object.values(tags).flat();

for (const [format, own] of Object.entries(tags)) {
  test(`containsCode knows the tags of ${format}`, async () => {
    for (const tag of others) {
      const text = `So:\n\`\`\`${tag}\nx\n\`\`\`\n`;
      const { result } = await runCheck("default.containsCode", { format }, { text, answers: true });
      assert.deepEqual([result?.verdict, result?.error], [own.includes(tag), null], tag);
    }
  });
}

for (const [text, isFound] of [
  ["no code", false],
  ["", false],
  ["python", false],
  ["```\nprint(1)\n```", false],
  ["```js\n1\n```\nand\n```python\n1\n```", true],
  ["```js\n1\n```python\n1", false], // the second fence closes the first
  ["```python\nnot closed", true],
  ["``` python title=x\n1\n```", true],
  ["```{.python}\n1\n```", true],
  ["````PYTHON\n1\n````", true],
  ["~~~python\n1\n~~~", true],
] as const) {
  test(`containsCode finds Python in ${JSON.stringify(text)}: ${isFound}`, async () => {
    for (const not of [false, true]) {
      const { result } = await runCheck("containsCode", { format: "Python", not }, { text, answers: true });
      assert.equal(result?.verdict, isFound !== not);
    }
  });
}

for (const parameters of [{}, { format: "python" }, { format: "Cobol" }, { format: "SQL", not: 1 }]) {
  test(`containsCode rejects the parameters ${JSON.stringify(parameters)}`, () => {
    assert.equal(problemsOf("default.containsCode", parameters, "output_guardrails").length, 1);
  });
}

test("containsCode runs after the call only", () => {
  assert.match(problemsOf("default.containsCode", { format: "SQL" })[0] ?? "", /runs after the call only$/);
});
