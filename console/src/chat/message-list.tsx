import { ActionIcon, Button, FileButton, Group, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { nameOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";
import classes from "./chat.module.css";
import { type AttachedFile, createMessage, isShowable, type Message, messageRoles } from "./messages.ts";

const words = text.chat;

interface MessageListProps {
  readonly messages: readonly Message[];
  readonly onChange: (messages: readonly Message[]) => void;
  /** Instead of a plain text area, for templates. */
  readonly input?: (message: Message, label: string, onChange: (value: string) => void) => ReactNode;
}

/** Messages one below the other, each with its role, text and images. */
export function MessageList({ messages, onChange, input }: MessageListProps): ReactNode {
  const replace = (key: string, changes: Partial<Message>) =>
    onChange(messages.map((message) => (message.key === key ? { ...message, ...changes } : message)));
  const last = messages.at(-1)?.role;
  return (
    <Stack gap="xs">
      {messages.map((message, index) => (
        <MessageEditor
          key={message.key}
          message={message}
          place={index + 1}
          input={input}
          onChange={(changes) => replace(message.key, changes)}
          onRemove={() => onChange(messages.filter(({ key }) => key !== message.key))}
        />
      ))}
      <Group>
        <Button
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => onChange([...messages, createMessage(last === "user" ? "assistant" : "user")])}
        >
          {words.addMessage}
        </Button>
      </Group>
    </Stack>
  );
}

interface MessageEditorProps {
  readonly message: Message;
  readonly place: number;
  readonly input: MessageListProps["input"];
  readonly onChange: (changes: Partial<Message>) => void;
  readonly onRemove: () => void;
}

function MessageEditor({ message, place, input, onChange, onRemove }: MessageEditorProps): ReactNode {
  const label = words.messageText({ place });
  return (
    <fieldset className={classes.message} aria-label={words.message({ place })}>
      <Group gap="xs" wrap="nowrap">
        <Select
          aria-label={words.role({ place })}
          data={messageRoles.map((role) => ({ value: role, label: nameOf(role) }))}
          value={message.role}
          onChange={(role) => onChange({ role: messageRoles.find((one) => one === role) ?? "user" })}
          allowDeselect={false}
          w="8rem"
        />
        <div style={{ flex: 1 }} />
        {message.role === "user" && input === undefined && (
          <AttachFile
            onAttach={({ name, data }) =>
              onChange(
                isShowable(data)
                  ? { images: [...message.images, data] }
                  : { files: [...message.files, { name, data }] },
              )
            }
          />
        )}
        <ActionIcon variant="subtle" color="gray" aria-label={words.removeMessage({ place })} onClick={onRemove}>
          <Icon name="trash" size={14} />
        </ActionIcon>
      </Group>
      {message.role === "tool" && (
        <TextInput
          label={words.toolCallId}
          value={message.toolCallId}
          onChange={(event) => onChange({ toolCallId: event.currentTarget.value })}
        />
      )}
      {input === undefined ? (
        <Textarea
          aria-label={label}
          placeholder={words.placeholders[message.role]}
          autosize
          minRows={2}
          maxRows={16}
          value={message.text}
          onChange={(event) => onChange({ text: event.currentTarget.value })}
        />
      ) : (
        input(message, label, (value) => onChange({ text: value }))
      )}
      <Images message={message} onChange={onChange} />
      <Files message={message} onChange={onChange} />
      {message.toolCalls.length > 0 && (
        <pre className={classes.reasoning}>
          {message.toolCalls.map(({ name, arguments: written }) => `${name}(${written})`).join("\n")}
        </pre>
      )}
    </fieldset>
  );
}

const maxFileBytes = 8_000_000;

/** Kinds of files that providers take. */
const accepted = "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.json,.csv";

function readDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function AttachFile({ onAttach }: { readonly onAttach: (file: AttachedFile) => void }): ReactNode {
  const [error, setError] = useState<unknown>();
  const attach = async (file: File | null) => {
    if (file === null) return;
    setError(undefined);
    if (file.size > maxFileBytes) setError(new Error(words.fileTooLarge));
    else await readDataUrl(file).then((data) => onAttach({ name: file.name, data }), setError);
  };
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      <FileButton onChange={(file) => void attach(file)} accept={accepted}>
        {(props) => (
          <ActionIcon {...props} variant="subtle" color="gray" aria-label={words.attachFile}>
            <Icon name="image" size={16} />
          </ActionIcon>
        )}
      </FileButton>
    </>
  );
}

/** Files of a message by their names. */
function Files({
  message,
  onChange,
}: {
  readonly message: Message;
  readonly onChange: (changes: Partial<Message>) => void;
}): ReactNode {
  return message.files.map(({ name }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the same file may stand twice
    <Group key={index} gap="xs" wrap="nowrap">
      <Icon name="files" size={14} />
      <span style={{ overflowWrap: "anywhere" }}>{name}</span>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="xs"
        aria-label={words.removeFile({ name })}
        onClick={() => onChange({ files: message.files.filter((_, at) => at !== index) })}
      >
        <Icon name="close" size={12} />
      </ActionIcon>
    </Group>
  ));
}

/** Images of a message. Addresses elsewhere are shown as words: loading one would tell its host. */
function Images({
  message,
  onChange,
}: {
  readonly message: Message;
  readonly onChange: (changes: Partial<Message>) => void;
}): ReactNode {
  if (message.images.length === 0) return null;
  return (
    <div className={classes.images}>
      {message.images.map((url, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may stand twice
        <div key={index} className={classes.image}>
          {isShowable(url) ? (
            <img src={url} alt={words.image({ place: index + 1 })} />
          ) : (
            <code>{url.slice(0, 200)}</code>
          )}
          <ActionIcon
            variant="default"
            size="xs"
            aria-label={words.removeImage({ place: index + 1 })}
            onClick={() => onChange({ images: message.images.filter((_, at) => at !== index) })}
          >
            <Icon name="close" size={12} />
          </ActionIcon>
        </div>
      ))}
    </div>
  );
}
