/**
 * What an upstream says of a failure in its headers. AWS names it there, with an address behind it
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html).
 */
export function readFailureHeaders(headers: Headers): { type?: string; code?: string } {
  const name = /^(?:[\w.]*#)?(\w{1,64})(?:[:;]|$)/.exec(headers.get("x-amzn-errortype") ?? "")?.[1];
  return name === undefined ? {} : { type: name, code: name };
}
