import type * as v from "valibot";
import type { KeyAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import { defineKeyEndpoint, type Endpoint, type Method, type QueryParameter } from "../../endpoint.ts";
import type { NativeGroup } from "../../providers/core/types.ts";
import * as assistants from "../../schemas/assistants.ts";
import * as small from "../../schemas/relayed.ts";
import * as stores from "../../schemas/vector-stores.ts";
import * as videos from "../../schemas/videos.ts";
import type { KeyHandler } from "../files/gateway-store.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { addStoreFiles, cancelFileBatch, listFileBatchFiles, retrieveFileBatch } from "../vectors/file-batches.ts";
import {
  addStoreFile,
  changeStoreFile,
  listStoreFiles,
  removeStoreFile,
  retrieveStoreFile,
  retrieveStoreFileContent,
} from "../vectors/files.ts";
import { isForOwnStores } from "../vectors/own-stores.ts";
import { searchStore } from "../vectors/search.ts";
import { changeStore, createStore, deleteStore, listStores, retrieveStore } from "../vectors/stores.ts";

/** Native endpoints of one group: requests are forwarded unchanged to providers that have the route. */
interface Group {
  group: NativeGroup;
  tag: string;
  /** Headers clients may leave out. */
  headers?: Readonly<Record<string, string>>;
  /** Content types of bodies; JSON by default. */
  bodyTypes?: readonly string[];
  routes: readonly Route[];
}

/** Answers of the gateway, for routes whose records it can have itself. */
const ownHandlers: Readonly<Record<string, KeyHandler>> = {
  list_vector_stores: listStores,
  create_vector_store: createStore,
  get_vector_store: retrieveStore,
  update_vector_store: changeStore,
  delete_vector_store: deleteStore,
  search_vector_store: searchStore,
  list_vector_store_files: listStoreFiles,
  create_vector_store_file: addStoreFile,
  get_vector_store_file: retrieveStoreFile,
  update_vector_store_file: changeStoreFile,
  delete_vector_store_file: removeStoreFile,
  get_vector_store_file_content: retrieveStoreFileContent,
  create_file_batch: addStoreFiles,
  get_file_batch: retrieveFileBatch,
  cancel_file_batch: cancelFileBatch,
  list_file_batch_files: listFileBatchFiles,
};

/** Schemas of a route's body, response and query. */
interface RouteFacts {
  body?: v.GenericSchema;
  answer?: v.GenericSchema;
  query?: readonly QueryParameter[];
}

interface Route extends RouteFacts {
  method: Method;
  path: string;
  operation: string;
  summary: string;
}

/** @param place Method and path, as in `GET /v1/assistants`. */
function route(place: `${Method} /${string}`, operation: string, summary: string, facts: RouteFacts = {}): Route {
  const [method, path] = place.split(" ") as [Method, string]; // as its type says
  return { method, path, operation, summary, ...facts };
}

const access: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };
const assistantsBeta = { "openai-beta": "assistants=v2" };

const page: readonly QueryParameter[] = [
  { name: "limit", description: "Records per page, 1 to 100; default 20" },
  { name: "order", description: "asc or desc by creation time; default desc" },
  { name: "after", description: "Id of the record the page begins after" },
  { name: "before", description: "Id of the record the page ends before" },
];
const pageOfFiles = [
  ...page,
  { name: "filter", description: "Status of the files: in_progress, completed, failed or cancelled" },
];
const pageOfVideos = [
  { name: "limit", description: "Records per page, 0 to 100" },
  { name: "order", description: "asc or desc by creation time" },
  { name: "after", description: "Id of the record the page begins after" },
];

const { Assistant, Deleted, pageOf, Run, RunStep, Thread, ThreadMessage } = assistants;
const { FileBatch, VectorStore, VectorStoreFile } = stores;

const message = "/v1/threads/:thread_id/messages/:message_id";
const run = "/v1/threads/:thread_id/runs/:run_id";
const store = "/v1/vector_stores/:vector_store_id";
const batch = `${store}/file_batches/:batch_id`;

/** Every native endpoint. */
const groups: readonly Group[] = [
  {
    group: "assistants",
    tag: "Assistants",
    headers: assistantsBeta,
    routes: [
      route("GET /v1/assistants", "list_assistants", "List assistants", { answer: pageOf(Assistant), query: page }),
      route("POST /v1/assistants", "create_assistant", "Create an assistant", {
        body: assistants.AssistantRequest,
        answer: Assistant,
      }),
      route("GET /v1/assistants/:assistant_id", "get_assistant", "Read an assistant", { answer: Assistant }),
      route("POST /v1/assistants/:assistant_id", "update_assistant", "Change an assistant", {
        body: assistants.AssistantChange,
        answer: Assistant,
      }),
      route("DELETE /v1/assistants/:assistant_id", "delete_assistant", "Remove an assistant", { answer: Deleted }),
    ],
  },
  {
    group: "assistants",
    tag: "Threads",
    headers: assistantsBeta,
    routes: [
      route("POST /v1/threads", "create_thread", "Create a thread", {
        body: assistants.ThreadRequest,
        answer: Thread,
      }),
      route("POST /v1/threads/runs", "create_thread_and_run", "Create a thread and run it", {
        body: assistants.ThreadRunRequest,
        answer: Run,
      }),
      route("GET /v1/threads/:thread_id", "get_thread", "Read a thread", { answer: Thread }),
      route("POST /v1/threads/:thread_id", "update_thread", "Change a thread", {
        body: assistants.ThreadChange,
        answer: Thread,
      }),
      route("DELETE /v1/threads/:thread_id", "delete_thread", "Remove a thread", { answer: Deleted }),
      route("GET /v1/threads/:thread_id/messages", "list_messages", "List the messages of a thread", {
        answer: pageOf(ThreadMessage),
        query: [...page, { name: "run_id", description: "Only messages of this run" }],
      }),
      route("POST /v1/threads/:thread_id/messages", "create_message", "Add a message to a thread", {
        body: assistants.MessageRequest,
        answer: ThreadMessage,
      }),
      route(`GET ${message}`, "get_message", "Read a message", { answer: ThreadMessage }),
      route(`POST ${message}`, "update_message", "Change a message", {
        body: assistants.MetadataChange,
        answer: ThreadMessage,
      }),
      route(`DELETE ${message}`, "delete_message", "Remove a message", { answer: Deleted }),
    ],
  },
  {
    group: "assistants",
    tag: "Runs",
    headers: assistantsBeta,
    routes: [
      route("GET /v1/threads/:thread_id/runs", "list_runs", "List the runs of a thread", {
        answer: pageOf(Run),
        query: page,
      }),
      route("POST /v1/threads/:thread_id/runs", "create_run", "Run a thread; streams when asked to", {
        body: assistants.RunRequest,
        answer: Run,
      }),
      route(`GET ${run}`, "get_run", "Read a run", { answer: Run }),
      route(`POST ${run}`, "update_run", "Change a run", { body: assistants.MetadataChange, answer: Run }),
      route(`POST ${run}/submit_tool_outputs`, "submit_tool_outputs", "Submit tool outputs to a run", {
        body: assistants.ToolOutputs,
        answer: Run,
      }),
      route(`POST ${run}/cancel`, "cancel_run", "Cancel a run", { answer: Run }),
      route(`GET ${run}/steps`, "list_run_steps", "List the steps of a run", {
        answer: pageOf(RunStep),
        query: page,
      }),
      route(`GET ${run}/steps/:step_id`, "get_run_step", "Read a step of a run", { answer: RunStep }),
    ],
  },
  {
    group: "vector_stores",
    tag: "Vector stores",
    headers: assistantsBeta,
    routes: [
      route("GET /v1/vector_stores", "list_vector_stores", "List vector stores", {
        answer: pageOf(VectorStore),
        query: page,
      }),
      route("POST /v1/vector_stores", "create_vector_store", "Create a vector store", {
        body: stores.VectorStoreRequest,
        answer: VectorStore,
      }),
      route(`GET ${store}`, "get_vector_store", "Read a vector store", { answer: VectorStore }),
      route(`POST ${store}`, "update_vector_store", "Change a vector store", {
        body: stores.VectorStoreChange,
        answer: VectorStore,
      }),
      route(`DELETE ${store}`, "delete_vector_store", "Remove a vector store", { answer: Deleted }),
      route(`POST ${store}/search`, "search_vector_store", "Search a vector store", {
        body: stores.VectorStoreSearch,
        answer: stores.VectorStoreResults,
      }),
      route(`GET ${store}/files`, "list_vector_store_files", "List the files of a vector store", {
        answer: pageOf(VectorStoreFile),
        query: pageOfFiles,
      }),
      route(`POST ${store}/files`, "create_vector_store_file", "Add a file to a vector store", {
        body: stores.VectorStoreFileRequest,
        answer: VectorStoreFile,
      }),
      route(`GET ${store}/files/:file_id`, "get_vector_store_file", "Read a file of a vector store", {
        answer: VectorStoreFile,
      }),
      route(`POST ${store}/files/:file_id`, "update_vector_store_file", "Change a file's attributes", {
        body: stores.VectorStoreFileChange,
        answer: VectorStoreFile,
      }),
      route(`DELETE ${store}/files/:file_id`, "delete_vector_store_file", "Remove a file from a vector store", {
        answer: Deleted,
      }),
      route(`GET ${store}/files/:file_id/content`, "get_vector_store_file_content", "Read a file's parsed content", {
        answer: stores.VectorStoreContent,
      }),
      route(`POST ${store}/file_batches`, "create_file_batch", "Add files to a vector store", {
        body: stores.FileBatchRequest,
        answer: FileBatch,
      }),
      route(`GET ${batch}`, "get_file_batch", "Read a batch of files", { answer: FileBatch }),
      route(`POST ${batch}/cancel`, "cancel_file_batch", "Cancel a batch of files", { answer: FileBatch }),
      route(`GET ${batch}/files`, "list_file_batch_files", "List the files of a batch", {
        answer: pageOf(VectorStoreFile),
        query: pageOfFiles,
      }),
    ],
  },
  {
    group: "videos",
    tag: "Videos",
    bodyTypes: ["multipart/form-data", "application/json"],
    routes: [
      route("GET /v1/videos", "list_videos", "List videos", { answer: pageOf(videos.Video), query: pageOfVideos }),
      route("POST /v1/videos", "create_video", "Create a video", {
        body: videos.VideoRequest,
        answer: videos.Video,
      }),
      route("POST /v1/videos/edits", "edit_video", "Edit a video", {
        body: videos.VideoRemix,
        answer: videos.Video,
      }),
      route("POST /v1/videos/extensions", "extend_video", "Extend a video", {
        body: videos.VideoRemix,
        answer: videos.Video,
      }),
      route("POST /v1/videos/characters", "create_video_character", "Create a character from a video"),
      route("GET /v1/videos/characters/:character_id", "get_video_character", "Read a character"),
      route("GET /v1/videos/:video_id", "get_video", "Read a video", { answer: videos.Video }),
      route("DELETE /v1/videos/:video_id", "delete_video", "Remove a video", { answer: Deleted }),
      route("GET /v1/videos/:video_id/content", "get_video_content", "Download a video", {
        query: [{ name: "variant", description: "video, thumbnail or spritesheet" }],
      }),
      route("POST /v1/videos/:video_id/remix", "remix_video", "Create a video from another one", {
        body: videos.VideoRemix,
        answer: videos.Video,
      }),
    ],
  },
  {
    group: "videos_v2",
    tag: "Videos",
    routes: [
      route("POST /v1/v2/videos", "create_video_job", "Create a video by the second version", {
        body: videos.VideoJobRequest,
        answer: videos.VideoJob,
      }),
      route("GET /v1/v2/videos/:video_id", "get_video_job", "Read a job of the second version", {
        answer: videos.VideoJob,
      }),
    ],
  },
  {
    group: "image_variations",
    tag: "Images",
    bodyTypes: ["multipart/form-data"],
    routes: [
      route("POST /v1/images/variations", "image_variations", "Create variations of an image", {
        body: small.ImageVariationRequest,
        answer: small.ImageVariations,
      }),
    ],
  },
  {
    group: "realtime_secrets",
    tag: "Realtime",
    routes: [
      route("POST /v1/realtime/client_secrets", "create_client_secret", "Create a secret for a browser", {
        body: small.ClientSecretRequest,
        answer: small.ClientSecret,
      }),
      route("POST /v1/realtime/sessions", "create_realtime_session", "Create a session for a browser", {
        body: small.RealtimeSessionRequest,
        answer: small.RealtimeSession,
      }),
      route(
        "POST /v1/realtime/transcription_sessions",
        "create_transcription_session",
        "Create a session that transcribes, for a browser",
        { body: small.RealtimeSessionRequest, answer: small.RealtimeSession },
      ),
    ],
  },
  {
    group: "legacy_complete",
    tag: "Completions",
    routes: [
      route("POST /v1/complete", "legacy_complete", "Complete a text, in the older shape of Anthropic", {
        body: small.LegacyCompleteRequest,
        answer: small.LegacyCompleteResponse,
      }),
    ],
  },
];

function toEndpoint(
  { group, tag, headers = {}, bodyTypes = ["application/json"] }: Group,
  { body, answer, query, ...names }: Route,
): Endpoint {
  const nativeRoute = { group, headers };
  const forward = (context: CallerContext) => runPassthrough(Object.assign(context, { nativeRoute }));
  const own = ownHandlers[names.operation];
  return defineKeyEndpoint({
    ...names,
    tag,
    access,
    nativeRoute,
    ...(body && { documentedBody: { schema: body, types: bodyTypes } }),
    ...(answer && { response: answer }),
    ...(query && { query }),
    handle: own ? async (context) => ((await isForOwnStores(context)) ? own : forward)(context) : forward,
  });
}

/** Endpoints whose requests and responses are forwarded unchanged. */
export const nativeEndpoints: readonly Endpoint[] = groups.flatMap((group) =>
  group.routes.map((one) => toEndpoint(group, one)),
);
