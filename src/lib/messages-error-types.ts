/** Error types that clients of the Messages API know, by status (https://docs.claude.com/en/api/errors). */
const messagesTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};
const knownMessagesTypes = Object.entries(messagesTypes);

/**
 * The type of an error on Messages routes: that of its status, since other providers have other types.
 *
 * @param status Absent: an error in the middle of a stream, whose type says all.
 */
export function toMessagesType(type: string, status?: number): string {
  if (status === undefined) return knownMessagesTypes.some(([, name]) => name === type) ? type : "api_error";
  const isServers = status >= 500;
  const fits = knownMessagesTypes.some(([known, name]) => name === type && Number(known) >= 500 === isServers);
  return messagesTypes[status] ?? (fits ? type : isServers ? "api_error" : "invalid_request_error");
}
