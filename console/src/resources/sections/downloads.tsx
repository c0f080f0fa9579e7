import { Button, Modal } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { type AnswerOf, get, send } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { saveAs } from "@/lib/save.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import type { SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

interface DownloadProps {
  /** Reads the file. */
  readonly read: () => Promise<Response>;
  readonly file: string;
  readonly disabled?: boolean;
}

/** A button that reads a file with the session and saves it. */
function Download({ read, file, disabled = false }: DownloadProps): ReactNode {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async () => {
    setBusy(true);
    setError(undefined);
    try {
      saveAs(file, await (await read()).blob());
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        variant={disabled ? "default" : "filled"}
        disabled={disabled}
        loading={busy}
        onClick={() => void run()}
        leftSection={<Icon name="down" size={14} />}
      >
        {text.resources.exports.download}
      </Button>
      {error !== undefined && (
        <Modal
          opened
          onClose={() => setError(undefined)}
          title={text.resources.exports.download}
          closeButtonProps={{ "aria-label": text.common.close }}
        >
          <Failure error={error} />
        </Modal>
      )}
    </>
  );
}

export function ExportDownload({ record, id }: SectionProps<AnswerOf<"GET /v1/logs/exports/{id}">>): ReactNode {
  const workspace = useWorkspaceQuery({ workspace: "required" });
  const read = async () => {
    const answer = await get("/v1/logs/exports/{id}/download", { path: { id }, query: workspace });
    // the link names the public address of the gateway; the page reads from where it is
    const { search } = new URL(answer.signed_url);
    return send("GET", `/v1/logs/exports/${encodeURIComponent(id)}/content${search}`);
  };
  return <Download read={read} file={`export-${id}.jsonl`} disabled={record.status !== "success"} />;
}

export function FileDownload({ record, id }: SectionProps<AnswerOf<"GET /v1/files/{id}">>): ReactNode {
  const read = () => send("GET", `/v1/files/${encodeURIComponent(id)}/content`);
  return <Download read={read} file={record.filename} />;
}

export function BatchDownload({ record, id }: SectionProps<AnswerOf<"GET /v1/batches/{id}">>): ReactNode {
  const read = () => send("GET", `/v1/batches/${encodeURIComponent(id)}/output`);
  return <Download read={read} file={`${id}-output.jsonl`} disabled={record.status !== "completed"} />;
}
