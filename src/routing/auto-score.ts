/** What the built-in rules of `auto` read of a request. */
interface PromptTraits {
  /** The last thing that the user said. */
  text: string;
  /** Characters of the whole conversation. */
  characters: number;
  /** Functions that are offered. */
  tools: number;
  /** Messages of the user. */
  turns: number;
}

/** How hard a request is, and why. */
interface PromptScore {
  /** From 0 to 1. */
  score: number;
  /** What decided, in the order of the rules. */
  signals: readonly string[];
}

/** Points at which a request is as hard as any. */
const mostPoints = 6;
/** Instructions stand at the beginning or the end: what lies between is material. */
const headLength = 500;
const tailLength = 700;

/** A rule that gives points to words of tasks, in lower case. Stems of English, German, French, Spanish, Italian, Portuguese, Russian, Chinese, Japanese. */
interface CueRule {
  points: number;
  /** What a cue stands for, and its words. Reasons hold nothing of a prompt. */
  cues: readonly (readonly [label: string, words: RegExp])[];
}

/** Tasks that need several steps of thought. */
const hardTasks: CueRule = {
  points: 2,
  cues: [
    [
      "a proof",
      /\bpro(?:ve|of)\b|\bshow that\b|\bbeweis|\bdémontr|\bdem(?:uestr|ostr)|\bdimostr|\bdemonstr|дока(?:жи|за)|证明|証明/,
    ],
    ["a derivation", /\bderiv(?:e|ation)|\bleite\b.{0,80}\b(?:her|ab)\b|推导|導出/],
    [
      "a design",
      /\bdesign(?:s|ing)? (?:a|an|the|our)\b|\barchitect|\bentw[iu]rf|\barchitektur|\bconç|\bdiseñ|\bprogett|\bprojet[ae]|спроектир|设计|設計|架构/,
    ],
    [
      "an implementation",
      /\b(?:write|build|create|schreibe)\b.{0,80}\bin (?:rust|go|golang|java|kotlin|python|typescript|javascript|c\+\+|c#|scala|haskell|swift)\b|\bimplement(?!ed\b)|\bimplémen|реализу|实现|実装/,
    ],
    ["a restructuring", /\brefactor|\brework\b|\brestructur|\brethink|\bmigrat|\bport this\b/],
    [
      "a search for a cause",
      /\bdebug|\broot cause|\bfind (?:the|a) bug|\bwhy\b.{0,60}\b(?:fail|break|broke|crash|restart|hang|deadlock|slow|wrong)|\bgoing wrong\b|\binvestigat|\btroubleshoot/,
    ],
    [
      "concurrency",
      /\bdead-?lock|\brace condition|\bconcurren|\bthread-?safe|\bdistributed\b|\bverteilt|\bdistribu[íi]d|分散/,
    ],
    ["an analysis", /\banaly[sz]e?|\banalysier|\banaliz|\banalis[ae]|проанализ|分析/],
    [
      "an evaluation",
      /\bevaluat|\bassess|\bcritiqu|\bcritically|\bbewert|\bévalu|\bevalú|\bvalut[ai]|\bavali[ae]|评估|評価/,
    ],
    [
      "trade-offs",
      /\btrade-?offs?\b|\bpros and cons\b|\badvantages and\b|\bvor- und nachteil|\bventajas y|\bvantaggi e|\bvantagens e|\bavantages et|优缺点|利点/,
    ],
    ["an optimisation", /\boptimi[sz](?:e|ation)|\boptimier|\boptimis|оптимиз|优化|最適化/],
    ["a strategy", /\bstrateg|\bstratégi|стратег|策略|戦略/],
    [
      "a model or an experiment",
      /\bthreat model|\bdifferential diagnos|\bsimulation|\bfailure modes?\b|\binvariants?\b|\bbusiness plan|\bexperiment\b/,
    ],
    ["an essay or an argument", /\bessay|\b\d{3,5} words\b|\bshort story\b|\bargu(?:e|ment)s?\b/],
  ],
};

/** What makes a task larger. */
const largerTasks: CueRule = {
  points: 1,
  cues: [
    ["a comparison", /\bcompar(?:e|ison)|\bvergleich|\bcompar[aeo]|\bconfront[ai]|сравн|比较|比較/],
    [
      "an explanation",
      /\bexplain (?:why|how|each|every|the|your)|\bjustif|\bbegründ|\bexpli(?:qu|ca)|объясни|解释|説明/,
    ],
    [
      "steps",
      /\b(?:every|each|the) steps?\b|\bstep[ -]by[ -]step|\bschritt|\bétape|\bpaso\b|\bpasso\b|шаг|步骤|每一步/,
    ],
    [
      "conclusions",
      /\brecommend (?:one|a (?:course|strategy))|\brecommendations?\b|\bconclu(?:de|sion)|\bempfehl|\bpropos|\bpropon/,
    ],
    ["an algorithm", /\bcomplexity|\balgorithm|\bkomplexität|\bcomplejidad|\bcompless|алгоритм|算法|アルゴリズム/],
    ["risks", /\brisks?\b|\brisiko|\brisques?\b|\briesgos?\b|\brisch|风险|リスク/],
    ["constraints", /\bconstraints?\b|\brequirements?\b|\bedge cases?\b|\bmust\b|\bno more than\b|\bvincol/],
    [
      "mathematics",
      /\btheorem|\bthéorème|\bteorem|\bintegral\b|\binduc|\bequations?\b|\bgradient\b|\bprimes?\b|\bprimzahl|\birrational|定理/,
    ],
    ["hypotheses", /\bhypothes|\bscenario|\bmethodolog|\bimplication|\bconfound|\bcounterargument|\bethic/],
    ["depth", /\bdetailed\b|\bin (?:depth|detail)\b|\bthorough|\bcomprehensive|\bcomplete\b|\bausführlich|\bdétaillé/],
    [
      "tests or errors",
      /\bunit tests?\b|\bwith tests\b|\band tests\b|\btests dazu|\berror handling|\bpull request|\btest suite\b|\bwhole suite\b/,
    ],
    [
      "a program to write",
      /\bwrite (?:a|an|the|me a) (?:\w+ )?(?:parser|compiler|module|program|script|library|service|report|document|pass|monte)\b|\bbuild (?:a|an)\b/,
    ],
    [
      "a judgement",
      /\breason(?:s|ing)\b|\bjudge\b|\binterpret\b|\bidentify\b|\breconstruct|\breconcile|\bcontradiction/,
    ],
    ["a plan", /\bplan (?:a|an|the|out)\b|\broll-?(?:out|back)\b|\bforecast|\bbudget|\bmilestone/],
    ["a system", /\bsystems?\b|\bsistema\b|\bsystème\b|系统|システム/],
  ],
};

/** Tasks that any model does. */
const easyTask =
  /^(?:please |bitte |can you |could you )?(?:translat|summar|übersetz|tradu|fass|résum|resum|riassum|翻译|define|list|name|convert|extract|classify|spell|correct|korrigier|fix the (?:spelling|punctuation|grammar)|rewrite|rephrase|paraphrase|shorten|format|sort|what(?:'s| is| are| does| do)|who|when|where|which|how (?:many|much|long|tall|old|do i|do you)|is |are |was |does |do |can |was ist|wie |wer |nenne|quel|qui |combien|cuál|¿|qual |chi |quanti|give me (?:a|an|three|five))/;
const shortAnswer =
  /\b(?:one|two|single) (?:sentence|word|line)s?\b|\bone-(?:line|sentence)\b|\bbriefly\b|\byes or no\b|\bshort\b|\bkurze?n?\b|\bcourt\b|\bbreve\b/;

const codeLine =
  /[;{}]\s*$|^\s*(?:def|class|func|fn|import|from|for|if|while|return|const|let|var|int|public)\b.*[({:;=]|=>/;

/** Lines that look like code. */
export function countCodeLines(text: string): number {
  return text.split("\n", 400).filter((line) => line.length < 400 && codeLine.test(line)).length;
}

function matchesOf({ cues, points }: CueRule, text: string): { points: number; labels: string[] } {
  const labels = cues.flatMap(([label, words]) => (words.test(text) ? [label] : []));
  return { points: labels.length * points, labels };
}

/** Points of what the request is, beside the words of its task. */
function sizePoints({ text, characters, tools, turns }: PromptTraits): (readonly [points: number, signal: string])[] {
  const lines = countCodeLines(text);
  const numbers = text.slice(0, 4_000).match(/\d+(?:[.,]\d+)?/g)?.length ?? 0;
  const parts = text.slice(0, 4_000).match(/[,;:?]/g)?.length ?? 0;
  const isText = text.length > 110 && text.length < 4_000;
  return [
    [text.length > 140 ? 1 : 0, "a long instruction"],
    [isText && numbers >= 4 ? 1 : 0, "several numbers"],
    [isText && parts >= 3 ? 1 : 0, "several parts"],
    [lines >= 6 ? 2 : lines >= 3 ? 1 : 0, `${lines} lines of code`],
    [characters > 6_000 ? 2 : 0, "a long document or conversation"],
    [characters > 24_000 ? 1 : 0, "a very long document or conversation"],
    [tools >= 10 ? 3 : tools >= 5 ? 2 : 0, `${tools} tools`],
    [turns >= 5 ? 1 : 0, `${turns} turns`],
  ];
}

/** How hard a request is by what is in it. Pure, and the same for the same request. */
export function scorePrompt(traits: PromptTraits): PromptScore {
  const { text } = traits;
  const cut = text.length <= headLength + tailLength;
  // lower case here takes half the time of patterns that ignore case
  const instruction = (cut ? text : `${text.slice(0, headLength)}\n${text.slice(-tailLength)}`).toLowerCase();
  const hard = matchesOf(hardTasks, instruction);
  const larger = matchesOf(largerTasks, instruction);
  const found: (readonly [points: number, signal: string])[] = [
    [hard.points, `hard task: ${hard.labels.join(", ")}`],
    [larger.points, `large task: ${larger.labels.join(", ")}`],
    ...sizePoints(traits),
    [text.length < 160 && easyTask.test(instruction.trim()) ? -2 : 0, "an easy task"],
    [text.length < 240 && shortAnswer.test(instruction) ? -1 : 0, "a short answer"],
  ];
  const counted = found.filter(([points]) => points !== 0);
  const points = counted.reduce((sum, [one]) => sum + one, 0);
  const score = Math.round((Math.min(Math.max(points, 0), mostPoints) / mostPoints) * 100) / 100;
  return { score, signals: counted.map(([one, signal]) => `${one > 0 ? "+" : ""}${one} ${signal}`) };
}

/** The place of the tier for a score, among so many from the smallest to the largest. */
export function tierOf(score: number, tiers: number): number {
  return Math.min(tiers - 1, Math.floor(score * tiers));
}
