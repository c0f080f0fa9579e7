import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { errorCodeOf, failureFormOf, failureForms } from "../../src/providers/core/failure-codes.ts";
import { readFailure } from "../../src/providers/core/failures.ts";
import { errorCodes } from "../../src/schemas/routing-choice.ts";
import { type FailureSample, failureSamples } from "./failure-samples.ts";

/** The error that a sample becomes. */
function errorOf({ provider, status, body, headers = {} }: FailureSample): UpstreamError {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const { message, ...details } = readFailure(text, status, new Headers(headers));
  return new UpstreamError(status, `${provider} error: ${message}`, details);
}

test("errorCodeOf() finds the kind of every provider's failures", () => {
  for (const sample of failureSamples) {
    assert.equal(errorCodeOf(errorOf(sample)), sample.code, `${sample.provider}: ${JSON.stringify(sample.body)}`);
  }
});

test("every form of failures has a sample that it alone decides, and every kind has forms", () => {
  const seen = new Set(failureSamples.map((sample) => failureFormOf(errorOf(sample))));
  const own = /^gateway:/;
  assert.deepEqual(
    failureForms.filter((form) => !seen.has(form) && !own.test(form.form)).map(({ form }) => form),
    [],
  );
  assert.deepEqual(
    errorCodes.filter((code) => !failureForms.some((form) => form.code === code)),
    [],
  );
});
