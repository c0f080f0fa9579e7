import { Button, Modal } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { call, send } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { type Row, readText } from "@/lib/read.ts";
import { saveAs } from "@/lib/save.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
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

interface SectionProps {
  readonly record: Row;
  readonly id: string;
}

export function ExportDownload({ record, id }: SectionProps): ReactNode {
  const workspace = useWorkspaceQuery({ workspace: "required" });
  const read = async () => {
    const path = `/v1/logs/exports/${encodeURIComponent(id)}`;
    const answer = await call("GET", `${path}/download`, { query: workspace });
    // the link names the public address of the gateway; the page reads from where it is
    const { search } = new URL(readText(answer, "signed_url"));
    return send("GET", `${path}/content${search}`);
  };
  return (
    <Download
      read={read}
      file={`export-${id}.jsonl`}
      disabled={record.status !== "success" && record.status !== "completed"}
    />
  );
}

export function FileDownload({ record, id }: SectionProps): ReactNode {
  const read = () => send("GET", `/v1/files/${encodeURIComponent(id)}/content`);
  return <Download read={read} file={String(record.filename ?? id)} />;
}

export function BatchDownload({ record, id }: SectionProps): ReactNode {
  const read = () => send("GET", `/v1/batches/${encodeURIComponent(id)}/output`);
  return <Download read={read} file={`${id}-output.jsonl`} disabled={record.status !== "completed"} />;
}
