import { testPairs } from "./pairs.ts";
import { createResponsesClient } from "./responses-client.ts";

testPairs("responses", createResponsesClient);
