import { createMessagesClient } from "./messages-client.ts";
import { testPairs } from "./pairs.ts";

testPairs("messages", createMessagesClient);
