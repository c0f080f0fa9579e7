// The command that the official conformance suite runs as its client: it passes the scenario on to the test that runs the suite.
// The first argument is the address of the test, the last one that of the suite's server.

const [, , test, url] = process.argv;
const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;
const isModern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === "2026-07-28";
const body = JSON.stringify({ url, name, isModern, context: JSON.parse(context) });
const response = await fetch(test, { method: "POST", body });
process.stderr.write(await response.text());
process.exitCode = response.ok ? 0 : 1;
