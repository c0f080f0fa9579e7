import { Alert, Anchor, Autocomplete, Button, Group, SegmentedControl, Select, Stack, Tabs, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { gatewayUrl } from "@/api/base.ts";
import type { AnswerOf } from "@/api/client.ts";
import { keyScopes } from "@/api/scopes.gen.ts";
import { Icon } from "@/components/icons.tsx";
import { Command, Failure, Waiting } from "@/components/states.tsx";
import { type FirstRequestKind, keyVariable, writeFirstRequest } from "@/lib/first-request.ts";
import { ofCredential } from "@/resources/health.tsx";
import { presetsOf } from "@/resources/scope-presets.ts";
import { ChooseWorkspace } from "@/session/choose-workspace.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import classes from "./first-steps.module.css";
import { useMakeKey, useModelNames, useStored, useTest } from "./first-steps-data.ts";

const words = text.firstSteps;

type Provider = AnswerOf<"GET /v1/providers">["data"][number];
type Place = NonNullable<ReturnType<typeof useStored>["place"]>;

/** What leads from an empty gateway to its first request; each step is ticked off by what is stored. */
export default function FirstSteps(): ReactNode {
  const { place, providers, error, hasKey, rowId } = useStored();
  if (place === undefined) return <ChooseWorkspace />;
  if (error !== null) return <Failure error={error} />;
  if (providers === undefined) return <Waiting />;
  return <Steps place={place} providers={providers} hasKey={hasKey} rowId={rowId} />;
}

interface StepsProps {
  readonly place: Place;
  readonly providers: readonly Provider[];
  readonly hasKey: boolean;
  /** Of the first request. */
  readonly rowId: string | undefined;
}

function Steps({ place, providers, hasKey, rowId }: StepsProps): ReactNode {
  const [chosen, setChosen] = useState<string>();
  const [key, setKey] = useState<string>();
  const provider = providers.find(({ slug }) => slug === chosen) ?? providers[0];
  return (
    <section aria-label={words.title}>
      <p className={classes.hint}>{words.about}</p>
      <ol className={classes.steps} style={{ marginBlockStart: "var(--space-3)" }}>
        <StoreStep providers={providers} onLeave={place.enter} />
        <TestStep key={provider?.slug} place={place} providers={providers} provider={provider} onChoose={setChosen} />
        <KeyStep place={place} isDone={hasKey} secret={key} onMade={setKey} />
        <SendStep key={`${provider?.slug} request`} provider={provider} secret={key} isDone={rowId !== undefined} />
        <SeeStep rowId={rowId} />
      </ol>
    </section>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}

function Step({ number, title, isDone, children }: StepProps): ReactNode {
  return (
    <li
      className={classes.step}
      data-done={isDone || undefined}
      aria-label={words.step({ number, name: title, isDone })}
    >
      <span className={classes.mark} aria-hidden="true">
        {isDone ? <Icon name="check" size={14} /> : number}
      </span>
      <Stack gap="xs" miw={0}>
        <h2>{title}</h2>
        {children}
      </Stack>
    </li>
  );
}

const Hint = ({ children }: { readonly children: ReactNode }): ReactNode => <p className={classes.hint}>{children}</p>;

interface StoreStepProps {
  readonly providers: readonly Provider[];
  /** Called before the page that stores one opens. */
  readonly onLeave: () => void;
}

function StoreStep({ providers, onLeave }: StoreStepProps): ReactNode {
  const { can } = useSession();
  const isDone = providers.length > 0;
  const mayStore = can("POST /v1/integrations");
  return (
    <Step number={1} title={words.store.title} isDone={isDone}>
      <Hint>{words.store.hint}</Hint>
      {isDone && (
        <Group gap="xs">
          <Text size="sm">{words.store.stored}</Text>
          {providers.slice(0, 5).map(({ slug, name }) => (
            <Anchor
              key={slug}
              size="sm"
              renderRoot={(props) => <Link {...props} to={`/providers/${encodeURIComponent(slug)}`} />}
            >
              {name}
            </Anchor>
          ))}
        </Group>
      )}
      {mayStore ? (
        <Group>
          <Button component={Link} to="/integrations/new" onClick={onLeave} {...(isDone && { variant: "default" })}>
            {isDone ? words.store.more : words.store.action}
          </Button>
        </Group>
      ) : (
        !isDone && <Hint>{words.store.notAllowed}</Hint>
      )}
    </Step>
  );
}

interface TestStepProps {
  readonly place: Place;
  readonly providers: readonly Provider[];
  readonly provider: Provider | undefined;
  readonly onChoose: (slug: string) => void;
}

function TestStep({ place, providers, provider, onChoose }: TestStepProps): ReactNode {
  const { test, isDone, mayTest } = useTest(provider?.slug ?? "", place);
  const result = test.data === undefined ? undefined : ofCredential(test.data);
  return (
    <Step number={2} title={words.test.title} isDone={isDone}>
      <Hint>{words.test.hint}</Hint>
      <Group align="end" gap="xs">
        {providers.length > 1 && (
          <Select
            label={words.test.provider}
            data={providers.map(({ slug, name }) => ({ value: slug, label: name }))}
            value={provider?.slug ?? null}
            onChange={(slug) => slug !== null && onChoose(slug)}
            allowDeselect={false}
          />
        )}
        {mayTest && (
          <Button
            variant={isDone || provider === undefined ? "default" : "filled"}
            disabled={provider === undefined}
            loading={test.isPending}
            onClick={() => test.mutate()}
          >
            {words.test.action}
          </Button>
        )}
      </Group>
      {test.error !== null && <Failure error={test.error} />}
      {result !== undefined && (
        <Alert color={result.isFailure ? "red" : "teal"} variant="light" role="status" title={result.message}>
          {result.facts?.map(([label, value]) => (
            <Text key={label} size="sm">
              {label}: {value}
            </Text>
          ))}
        </Alert>
      )}
    </Step>
  );
}

interface KeyStepProps {
  readonly place: Place;
  readonly isDone: boolean;
  readonly secret: string | undefined;
  readonly onMade: (secret: string) => void;
}

const presets = presetsOf(keyScopes["workspace-service"]);

function KeyStep({ place, isDone, secret, onMade }: KeyStepProps): ReactNode {
  const { can } = useSession();
  const [chosen, setChosen] = useState(presets[0]?.label ?? "");
  const make = useMakeKey(place);
  const mayMake = can("POST /v1/api-keys/workspace/service");
  const submit = async () => {
    const scopes = presets.find(({ label }) => label === chosen)?.values ?? [];
    const { key } = await make.mutateAsync({ name: words.key.name({ preset: chosen }), scopes });
    // a key that only reads sends no request
    if (scopes.includes("completions.write")) onMade(key);
  };
  const shown = make.data?.key ?? secret;
  return (
    <Step number={3} title={words.key.title} isDone={isDone}>
      <Hint>{mayMake ? words.key.hint : words.key.notAllowed}</Hint>
      {mayMake && (
        <Group gap="xs">
          <SegmentedControl
            aria-label={words.key.may}
            data={presets.map(({ label }) => label)}
            value={chosen}
            onChange={setChosen}
          />
          <Button
            variant={isDone ? "default" : "filled"}
            loading={make.isPending}
            onClick={() => void submit().catch(() => undefined)}
          >
            {words.key.action}
          </Button>
        </Group>
      )}
      {make.error !== null && <Failure error={make.error} />}
      {shown !== undefined && (
        <>
          <Hint>{words.key.made}</Hint>
          <Command value={shown} />
        </>
      )}
    </Step>
  );
}

interface SendStepProps {
  readonly provider: Provider | undefined;
  readonly secret: string | undefined;
  readonly isDone: boolean;
}

/** Models that the built-in provider answers for. */
const echoModel = "echo-1";

const kinds = Object.entries(words.send.kinds) as [FirstRequestKind, string][]; // the words are those of the kinds

function SendStep({ provider, secret, isDone }: SendStepProps): ReactNode {
  const names = useModelNames(provider?.slug ?? "");
  const [typed, setTyped] = useState<string>();
  const model = typed ?? names[0] ?? (provider?.ai_provider_name === "echo" ? echoModel : "");
  const request = {
    origin: gatewayUrl,
    model: provider === undefined ? "@SLUG/MODEL" : `@${provider.slug}/${model || "MODEL"}`,
    key: secret,
  };
  return (
    <Step number={4} title={words.send.title} isDone={isDone}>
      <Hint>{secret === undefined ? words.send.hint({ placeholder: keyVariable }) : words.send.withKey}</Hint>
      <Autocomplete
        label={words.send.model}
        description={words.send.modelHint}
        data={[...names]}
        value={model}
        onChange={setTyped}
        maw="24rem"
        limit={50}
      />
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List>
          {kinds.map(([kind, label]) => (
            <Tabs.Tab key={kind} value={kind}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {kinds.map(([kind]) => (
          <Tabs.Panel key={kind} value={kind} pt="xs">
            <Command value={writeFirstRequest(kind, request)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Step>
  );
}

function SeeStep({ rowId }: { readonly rowId: string | undefined }): ReactNode {
  return (
    <Step number={5} title={words.see.title} isDone={rowId !== undefined}>
      <div role="status">
        <Hint>{rowId === undefined ? words.see.waiting : words.see.arrived}</Hint>
      </div>
      {rowId !== undefined && (
        <Group>
          <Button component={Link} to={`/logs/${encodeURIComponent(rowId)}`}>
            {words.see.open}
          </Button>
        </Group>
      )}
    </Step>
  );
}
