import { createChatClient } from "./chat-client.ts";
import { testPairs } from "./pairs.ts";

testPairs("chat", createChatClient);
