/**
 * List prices of models. `# <provider>` starts a section; each line is a model's name and `<what>=<price>` pairs.
 *
 * - `in`, `out`, `read`, `write` (prompt cache), `audio-in`, `audio-out`, `audio-read`, `image-in`, `image-out`: US dollars
 *   per million tokens; the same after `batch.` for batches, and after `flex.` and `priority.` for these service tiers.
 * - `unit.<name>`: US dollars each.
 * - `image.<quality>.<size>`: US dollars per image.
 *
 * A name that ends in `-lte-128k` or `-gt-128k` has the price of prompts up to, or above, that many thousand tokens.
 */
export const priceList = `
# ai21
jamba-1.5-large in=2 out=8
jamba-1.5-mini in=0.2 out=0.4
jamba-large in=2 out=8
jamba-large-1.5-2024-08 in=2 out=8
jamba-large-1.6-2025-03 in=2 out=8
jamba-large-1.7 in=2 out=8
jamba-large-1.7-2025-07 in=2 out=8
jamba-mini in=0.2 out=0.4
jamba-mini-1.5-2024-08 in=0.2 out=0.4
jamba-mini-1.6-2025-03 in=0.2 out=0.4
jamba-mini-1.7-2025-08 in=0.2 out=0.4
jamba-mini-2 in=0.2 out=0.4
jamba-mini-2-2026-01 in=0.2 out=0.4
# anthropic
claude-2.1 in=8 out=24
claude-3-5-haiku-20241022 in=0.8 out=4 read=0.08 write=1 batch.in=0.4 batch.out=2 unit.cache_write_1h=0.0000016 unit.web_search=0.01
claude-3-5-haiku-latest in=0.8 out=4 read=0.08 write=1 unit.cache_write_1h=0.0000016 unit.web_search=0.01
claude-3-5-sonnet-20240620 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-5-sonnet-20241022 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-5-sonnet-latest in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-7-sonnet-20250219 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-7-sonnet-latest in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-haiku-20240307 in=0.25 out=1.25 read=0.03 write=0.3 batch.in=0.125 batch.out=0.625 unit.cache_write_1h=0.0000005
claude-3-opus-20240229 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003
claude-3-opus-latest in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003
claude-3-sonnet-20240229 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-4-opus-20250514 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-4-sonnet-20250514-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-4-sonnet-20250514-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-fable-5 in=10 out=50 read=1 write=12.5 batch.in=5 batch.out=25 unit.cache_write_1h=0.00002 unit.web_search=0.01
claude-haiku-4-5 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002 unit.web_search=0.01
claude-haiku-4-5-20251001 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002 unit.web_search=0.01
claude-opus-4-0 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-1 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-1-20250805 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-20250514 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-5-20251101 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-6 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-sonnet-4-0-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-0-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-20250514-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-20250514-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-5-20250929-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-5-20250929-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-5-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-5-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-6 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004 unit.web_search=0.01
# anyscale
BAAI/bge-large-en-v1.5 in=0.05
HuggingFaceH4/zephyr-7b-beta in=0.15 out=0.15
Meta-Llama/Llama-Guard-7b in=0.15 out=0.15
Open-Orca/Mistral-7B-OpenOrca in=0.15 out=0.15
codellama/CodeLlama-34b-Instruct-hf in=1 out=1
codellama/CodeLlama-70b-Instruct-hf in=1 out=1
google/gemma-7b-it in=0.15 out=0.15
meta-llama/Llama-2-13b-chat-hf in=0.25 out=0.25
meta-llama/Llama-2-70b-chat-hf in=1 out=1
meta-llama/Llama-2-7b-chat-hf in=0.15 out=0.15
meta-llama/Llama-3-8b-chat-hf in=0.15 out=0.15
meta-llama/Meta-Llama-3-70B-Instruct in=1 out=1
mistralai/Mistral-7B-Instruct-v0.1 in=0.15 out=0.15
mistralai/Mixtral-8x22B-Instruct-v0.1 in=0.9 out=0.9
mistralai/Mixtral-8x7B-Instruct-v0.1 in=0.5 out=0.5
mlabonne/NeuralHermes-2.5-Mistral-7B in=0.15 out=0.15
thenlper/gte-large in=0.05
# azure-ai
AI21-Jamba-1.5-Large in=2 out=8
AI21-Jamba-1.5-Mini in=0.2 out=0.4
Codestral-2501 in=0.3 out=0.9
Cohere-command-r-08-2024 in=0.15 out=0.6
Cohere-command-r-plus-08-2024 in=2.5 out=10
DeepSeek-V3 in=1.14 out=4.56
DeepSeek-V3-0324 in=1.14 out=4.56
DeepSeek-V3.1 in=1.23 out=4.94
DeepSeek-V3.2 in=0.58 out=1.68
DeepSeek-V3.2-Speciale in=0.58 out=1.68
DeepSeek-V4-Flash in=0.19 out=0.51 read=0.028
DeepSeek-V4-Flash-0731 in=0.19 out=0.51 read=0.028
DeepSeek-V4-Pro in=1.74 out=3.48 read=0.145
Kimi-K2.5 in=0.6 out=3
Kimi-K2.6 in=0.95 out=4
Kimi-K2.7-Code in=0.95 out=4 read=0.19
Kimi-K3 in=33 out=165 read=3.3
Llama-2-70b-chat in=1.54 out=1.77
Llama-3.2-11B-Vision-Instruct in=0.37 out=0.37
Llama-3.2-90B-Vision-Instruct in=2.04 out=2.04
Llama-3.3-70B-Instruct in=0.71 out=0.71
Llama-4-Maverick-17B-128E-Instruct-FP8 in=0.35 out=1.41
Llama-4-Scout-17B-16E-Instruct in=0.2 out=0.78
MAI-Image-2.5 in=5 out=47 unit.input_image=0.000008
MAI-Image-2.5-Flash in=1.75 out=33 unit.input_image=0.00000175
Meta-Llama-3-70B-Instruct in=2.68 out=2.68
Meta-Llama-3-8B-Instruct in=0.3 out=0.61
Meta-Llama-3.1-405B-Instruct in=5.33 out=16
Meta-Llama-3.1-70B-Instruct in=0.71 out=0.71
Meta-Llama-3.1-8B-Instruct in=0.3 out=0.61
Mistral-Large-2411 in=2 out=6
Mistral-Large-3 in=0.5 out=1.5
Mistral-Nemo in=0.15 out=0.15
Phi-3.5-MoE-instruct in=0.16 out=0.64
Phi-3.5-mini-instruct in=0.13 out=0.52
Phi-3.5-vision-instruct in=0.13 out=0.52
Phi-4 in=0.125 out=0.5
Phi-4-mini-instruct in=0.075 out=0.3
Phi-4-multilmodal-instruct in=0.08 out=0.32 audio-in=4
Phi-4-multimodal-instruct in=0.08 out=0.32 audio-in=4
Stable-Diffusion-3.5-Large image.default.default=0.08
Stable-Image-Core image.default.default=0.04
Stable-Image-Ultra image.default.default=0.14
accounts/fireworks/models/deepseek-v3.2 in=6.2 out=18.5 read=3.1
accounts/fireworks/models/deepseek-v4-flash in=0.14 out=0.28 read=0.028
accounts/fireworks/models/deepseek-v4-pro in=1.74 out=3.48 read=0.14
accounts/fireworks/models/glm-5p1 in=1.4 out=4.4 read=0.26
accounts/fireworks/models/glm-5p2 in=1.4 out=4.4 read=0.26
accounts/fireworks/models/gpt-oss-120b in=1.7 out=6.6 read=0.9
accounts/fireworks/models/kimi-k2p5 in=6.6 out=33 read=1.1
accounts/fireworks/models/kimi-k2p6 in=0.95 out=4 read=0.16
accounts/fireworks/models/kimi-k3 in=3 out=15 read=0.3
accounts/fireworks/models/minimax-m2p5 in=3.3 out=13.2 read=0.3
accounts/fireworks/models/minimax-m3 in=0.3 out=1.2 read=0.06
ada in=0.1
chatgpt-4o-latest in=2.5 out=10 read=1.25
claude-fable-5 in=10 out=50 read=1 write=12.5 unit.cache_write_1h=0.00002
claude-haiku-4-5-20251001 in=1 out=5 read=0.1 write=1.25 unit.cache_write_1h=0.000002
claude-opus-4-1-20250805 in=15 out=75 read=1.5 write=18.75 unit.cache_write_1h=0.00003
claude-opus-4-5-20251101 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
claude-opus-4-6 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
claude-opus-5 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
claude-sonnet-4-5-20250929 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-sonnet-4-6 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004
codestral-2501 in=0.3 out=0.9
codex-mini-latest in=1.5 out=6 read=0.375
cohere.Cohere-rerank-v4.0-fast in=2000
cohere.Cohere-rerank-v4.0-pro in=2500
computer-use-preview in=3 out=12
dall-e-2 image.default.default=0.02 image.default.1024x1024=0.02 image.default.512x512=0.018 image.default.256x256=0.016 image.standard.default=0.02 image.standard.1024x1024=0.02 image.standard.512x512=0.018 image.standard.256x256=0.016
dall-e-3 image.default.default=0.04 image.default.1024x1024=0.04 image.default.1024x1792=0.08 image.default.1792x1024=0.08 image.standard.default=0.04 image.standard.1024x1024=0.04 image.standard.1024x1792=0.08 image.standard.1792x1024=0.08 image.hd.default=0.08 image.hd.1024x1024=0.08 image.hd.1024x1792=0.12 image.hd.1792x1024=0.12
davinci in=20 out=20
gpt-3.5-turbo in=1.5 out=2
gpt-3.5-turbo-0301 in=1.5 out=2
gpt-3.5-turbo-0613 in=1.5 out=2
gpt-3.5-turbo-1106 in=1 out=2
gpt-3.5-turbo-16k in=3 out=4
gpt-35-turbo in=1.5 out=2
gpt-35-turbo-0125.ft in=3 out=4
gpt-35-turbo-0613.ft in=3 out=4
gpt-35-turbo-1106 in=1 out=2
gpt-35-turbo-1106.ft in=3 out=4
gpt-35-turbo-16k in=3 out=4
gpt-4 in=30 out=60
gpt-4-0125-preview in=10 out=30
gpt-4-0314 in=30 out=60
gpt-4-0613 in=30 out=60
gpt-4-1106-preview in=10 out=30
gpt-4-32k in=60 out=120
gpt-4-32k-0314 in=60 out=120
gpt-4-32k-0613 in=60 out=120
gpt-4-turbo in=10 out=30
gpt-4-turbo-2024-04-09 in=10 out=30
gpt-4-vision-preview in=10 out=30
gpt-4.1 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-2025-04-14 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-2025-04-14.ft in=3 out=12 read=0.75 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-mini in=0.4 out=1.6 read=0.1 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-mini-2025-04-14 in=0.4 out=1.6 read=0.1 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-mini-2025-04-14.ft in=0.8 out=3.2 read=0.2 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-mini.ft in=0.8 out=3.2 read=0.2 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-nano in=0.1 out=0.4 read=0.03
gpt-4.1-nano-2025-04-14 in=0.1 out=0.4 read=0.03
gpt-4.1.ft in=3 out=12 read=0.75 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.5-preview-2025-02-27 in=75 out=150 read=37.5
gpt-4o in=2.5 out=10 read=1.25
gpt-4o-2024-05-13 in=5 out=15
gpt-4o-2024-08-06 in=2.5 out=10 read=1.25
gpt-4o-2024-08-06.ft in=3.75 out=15 read=1.875 unit.file_search=0.0025
gpt-4o-2024-11-20 in=2.5 out=10 read=1.25
gpt-4o-mini in=0.15 out=0.6 read=0.075
gpt-4o-mini-2024-07-18 in=0.15 out=0.6 read=0.075
gpt-4o-mini-2024-07-18.ft in=0.3 out=1.2 read=0.15 unit.file_search=0.0025
gpt-4o-mini-audio-preview in=0.15 out=0.6 audio-in=10 audio-out=20
gpt-4o-mini-audio-preview-2024-12-17 in=0.15 out=0.6 audio-in=10 audio-out=20
gpt-4o-mini-realtime-preview in=0.6 out=2.4 read=0.3 audio-in=10 audio-out=20 audio-read=0.3
gpt-4o-mini-realtime-preview-2024-12-17 in=0.6 out=2.4 read=0.3 audio-in=10 audio-out=20 audio-read=0.3
gpt-4o-mini-search-preview in=0.15 out=0.6
gpt-4o-mini-search-preview-2025-03-11 in=0.15 out=0.6
gpt-4o-mini-transcribe in=1.25 out=5 audio-in=3 unit.request_audio_token=0.003
gpt-4o-mini-tts in=0.6 audio-out=12
gpt-4o-mini.ft in=0.3 out=1.2 read=0.15 unit.file_search=0.0025
gpt-4o-realtime-preview in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-realtime-preview-2024-10-01 in=5 out=20 read=2.5 audio-in=100 audio-out=200 audio-read=20
gpt-4o-realtime-preview-2025-06-03 in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-search-preview in=2.5 out=10
gpt-4o-search-preview-2025-03-11 in=2.5 out=10
gpt-4o-transcribe in=2.5 out=10 audio-in=6 unit.request_audio_token=0.006
gpt-4o-transcribe-diarize in=2.5 out=10 audio-in=6
gpt-4o.ft in=3.75 out=15 read=1.875 unit.file_search=0.0025
gpt-5 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-2025-08-07 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-chat-2025-10-03 in=1.25 out=10 read=0.13 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-chat-latest in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-codex in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-mini in=0.25 out=2 read=0.025 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-mini-2025-08-07 in=0.25 out=2 read=0.025 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-nano in=0.05 out=0.4 read=0.005 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-nano-2025-08-07 in=0.05 out=0.4 read=0.005 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-pro in=15 out=120 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-pro-2025-10-06 in=15 out=120 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-search-api in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-search-api-2025-10-14 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-2025-11-13 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-chat-latest in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-codex in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-codex-mini in=0.25 out=2 read=0.025 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-2025-12-11 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-chat-2025-12-11 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-chat-latest in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-codex in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-pro in=21 out=168 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-pro-2025-12-11 in=21 out=168 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.3-chat in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.3-codex in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4 in=2.5 out=15 read=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-2026-03-05 in=2.5 out=15 read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-mini in=0.75 out=4.5 read=0.075 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-mini-2026-03-17 in=0.75 out=4.5 read=0.075 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-nano in=0.2 out=1.25 read=0.02 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-nano-2026-03-17 in=0.2 out=1.25 read=0.02 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-pro in=30 out=180 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.5 in=5 out=30 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-pro in=30 out=180 read=3 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6 in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-2026-07-09 in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-luna in=0.2 out=1.2 read=0.02 write=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-luna-2026-07-09 in=0.2 out=1.2 read=0.02 write=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-sol in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-sol-2026-07-09 in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-terra in=2 out=12 read=0.2 write=2.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-terra-2026-07-09 in=2 out=12 read=0.2 write=2.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-audio in=2.5 out=10 audio-in=32 audio-out=64
gpt-audio-mini in=0.6 out=2.4 audio-in=10 audio-out=20
gpt-chat-latest in=5 out=30 read=0.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-image-1 in=5 out=40
gpt-image-1.5 in=5 out=10 read=1.25
gpt-image-1.5-2025-12-16 in=5 out=10 read=1.25
gpt-image-2 image-in=8 image-out=30 image.default.default=0.211 image.default.1024x1024=0.211 image.default.1024x1536=0.165 image.default.1536x1024=0.165 image.high.default=0.211 image.high.1024x1024=0.211 image.high.1024x1536=0.165 image.high.1536x1024=0.165 image.medium.default=0.053 image.medium.1024x1024=0.053 image.medium.1024x1536=0.041 image.medium.1536x1024=0.041 image.low.default=0.006 image.low.1024x1024=0.006 image.low.1024x1536=0.005 image.low.1536x1024=0.005
gpt-image-2-2026-04-21 image-in=8 image-out=30 image.default.default=0.211 image.default.1024x1024=0.211 image.default.1024x1536=0.165 image.default.1536x1024=0.165 image.high.default=0.211 image.high.1024x1024=0.211 image.high.1024x1536=0.165 image.high.1536x1024=0.165 image.medium.default=0.053 image.medium.1024x1024=0.053 image.medium.1024x1536=0.041 image.medium.1536x1024=0.041 image.low.default=0.006 image.low.1024x1024=0.006 image.low.1024x1536=0.005 image.low.1536x1024=0.005
gpt-realtime in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4
gpt-realtime-1.5 in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4
gpt-realtime-2 in=4 out=24 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-2.1 in=4 out=24 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-2.1-mini in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-2025-08-28 in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4
gpt-realtime-mini in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-mini-2025-10-06 in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-mini-2025-12-15 in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
grok-3 in=3 out=15
grok-3-beta in=3 out=15
grok-3-fast in=3 out=15 read=0.75
grok-3-fast-beta in=3 out=15 read=0.75
grok-3-fast-latest in=3 out=15 read=0.75
grok-3-latest in=3 out=15
grok-3-mini in=0.25 out=1.27
grok-3-mini-beta in=0.3 out=0.5
grok-3-mini-fast in=0.3 out=0.5 read=0.075
grok-3-mini-fast-beta in=0.3 out=0.5 read=0.075
grok-3-mini-fast-latest in=0.3 out=0.5 read=0.075
grok-3-mini-latest in=0.3 out=0.5
grok-4 in=3 out=15
grok-4-1-fast-non-reasoning in=0.2 out=0.5 read=0.05
grok-4-20-non-reasoning in=2 out=6
grok-4-20-reasoning in=2 out=6
grok-4-fast-non-reasoning in=0.2 out=0.5 read=0.05
grok-4-fast-reasoning in=0.2 out=0.5 read=0.05
grok-4.20-beta-0309-non-reasoning in=2 out=6
grok-4.20-beta-0309-reasoning in=2 out=6
grok-code-fast-1 in=0.2 out=1.5
jamba-1.5-large in=2 out=8
jamba-1.5-mini in=0.2 out=0.4
ministral-3b-2410 in=0.04 out=0.04
mistral-document-ai-2505 in=3000
mistral-document-ai-2512 in=3000
mistral-large-2411 in=2 out=6
mistral-medium-3-5 in=1.5 out=7.5
mistral-ocr-4-0 in=4000
mistral-small-2503 in=0.1 out=0.3
o1 in=15 out=60 read=7.5
o1-2024-12-17 in=15 out=60 read=7.5
o1-mini in=3 out=12 read=1.5
o1-mini-2024-09-12 in=3 out=12 read=1.5
o1-preview in=15 out=60 read=7.5
o1-preview-2024-09-12 in=15 out=60 read=7.5
o1-pro in=150 out=600 unit.file_search=0.0025
o1-pro-2025-03-19 in=150 out=600 unit.file_search=0.0025
o3 in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-2025-04-16 in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-deep-research in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-deep-research-2025-06-26 in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-mini in=1.1 out=4.4 read=0.55
o3-mini-2025-01-31 in=1.1 out=4.4 read=0.55
o3-pro in=20 out=80 unit.file_search=0.0025
o3-pro-2025-06-10 in=20 out=80 unit.file_search=0.0025
o4-mini in=1.1 out=4.4 read=0.275 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-2025-04-16 in=1.1 out=4.4 read=0.275 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-deep-research in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-deep-research-2025-06-26 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
phi3-medium-4k in=0.17 out=0.68
phi35-mini-instruct in=0.13 out=0.52
phi35-moe-instruct in=0.16 out=0.64
phi35-vision-instruct in=0.13 out=0.52
phi4 in=0.125 out=0.5
phi4-mini-instruct in=0.075 out=0.3
sora-2 unit.video_duration_seconds_720_1280=0.1 unit.video_duration_seconds_1280_720=0.1
sora-2-pro unit.video_duration_seconds_720_1280=0.3 unit.video_duration_seconds_1280_720=0.3 unit.video_duration_seconds_1024_1792=0.5 unit.video_duration_seconds_1792_1024=0.5
text-ada-001 in=0.4 out=0.4
text-babbage-001 in=0.5 out=0.5
text-curie-001 in=2 out=2
text-davinci-001 in=20 out=20
text-davinci-002 in=20 out=20
text-davinci-003 in=20 out=20
text-embedding-3-large in=0.13
text-embedding-3-small in=0.02
text-embedding-ada-002 in=0.1
tts in=15
tts-1 in=15
tts-1-hd in=30
tts-hd in=30
# azure-openai
ada in=0.1
chatgpt-4o-latest in=2.5 out=10 read=1.25 unit.file_search=0.0025
codex-mini-latest in=1.5 out=6 read=0.375
computer-use-preview in=3 out=12
dall-e-2 image.default.default=0.02 image.default.1024x1024=0.02 image.default.512x512=0.018 image.default.256x256=0.016 image.standard.default=0.02 image.standard.1024x1024=0.02 image.standard.512x512=0.018 image.standard.256x256=0.016
dall-e-3 image.default.default=0.04 image.default.1024x1024=0.04 image.default.1024x1792=0.08 image.default.1792x1024=0.08 image.standard.default=0.04 image.standard.1024x1024=0.04 image.standard.1024x1792=0.08 image.standard.1792x1024=0.08 image.hd.default=0.08 image.hd.1024x1024=0.08 image.hd.1024x1792=0.12 image.hd.1792x1024=0.12
davinci in=20 out=20
gpt-3.5-turbo in=1.5 out=2
gpt-3.5-turbo-0301 in=1.5 out=2
gpt-3.5-turbo-0613 in=1.5 out=2
gpt-3.5-turbo-1106 in=1 out=2
gpt-3.5-turbo-16k in=3 out=4
gpt-35-turbo in=1.5 out=2
gpt-35-turbo-0125.ft in=3 out=4
gpt-35-turbo-0613.ft in=3 out=4
gpt-35-turbo-1106 in=1 out=2
gpt-35-turbo-1106.ft in=3 out=4
gpt-35-turbo-16k in=3 out=4
gpt-4 in=30 out=60
gpt-4-0125-preview in=10 out=30
gpt-4-0314 in=30 out=60
gpt-4-0613 in=30 out=60
gpt-4-1106-preview in=10 out=30
gpt-4-32k in=60 out=120
gpt-4-32k-0314 in=60 out=120
gpt-4-32k-0613 in=60 out=120
gpt-4-turbo in=10 out=30
gpt-4-turbo-2024-04-09 in=10 out=30
gpt-4-vision-preview in=10 out=30
gpt-4.1 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-4.1-2025-04-14 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-4.1-2025-04-14.ft in=3 out=12 read=0.75 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-mini in=0.4 out=1.6 read=0.1 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-4.1-mini-2025-04-14 in=0.4 out=1.6 read=0.1 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-4.1-mini-2025-04-14.ft in=0.8 out=3.2 read=0.2 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-mini.ft in=0.8 out=3.2 read=0.2 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.1-nano in=0.1 out=0.4 read=0.03 unit.routing_units=0.00000014
gpt-4.1-nano-2025-04-14 in=0.1 out=0.4 read=0.03 unit.routing_units=0.00000014
gpt-4.1.ft in=3 out=12 read=0.75 unit.web_search=0.01 unit.file_search=0.0025
gpt-4.5-preview-2025-02-27 in=75 out=150 read=37.5 unit.file_search=0.0025
gpt-4o in=2.5 out=10 read=1.25 unit.file_search=0.0025
gpt-4o-2024-05-13 in=5 out=15 unit.file_search=0.0025
gpt-4o-2024-08-06 in=2.5 out=10 read=1.25 unit.file_search=0.0025
gpt-4o-2024-08-06.ft in=3.75 out=15 read=1.875 unit.file_search=0.0025
gpt-4o-2024-11-20 in=2.5 out=10 read=1.25 unit.file_search=0.0025
gpt-4o-mini in=0.15 out=0.6 read=0.075 unit.file_search=0.0025
gpt-4o-mini-2024-07-18 in=0.15 out=0.6 read=0.075 unit.file_search=0.0025
gpt-4o-mini-2024-07-18.ft in=0.3 out=1.2 read=0.15 unit.file_search=0.0025
gpt-4o-mini-audio-preview in=0.15 out=0.6 audio-in=10 audio-out=20
gpt-4o-mini-audio-preview-2024-12-17 in=0.15 out=0.6 audio-in=10 audio-out=20
gpt-4o-mini-realtime-preview-2024-12-17 in=0.6 out=2.4 read=0.3 audio-in=10 audio-out=20 audio-read=0.3
gpt-4o-mini-search-preview in=0.15 out=0.6
gpt-4o-mini-search-preview-2025-03-11 in=0.15 out=0.6
gpt-4o-mini-transcribe in=1.25 out=5 audio-in=3 unit.request_audio_token=0.003
gpt-4o-mini-tts in=0.6 audio-out=12
gpt-4o-mini.ft in=0.3 out=1.2 read=0.15 unit.file_search=0.0025
gpt-4o-realtime-preview in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-realtime-preview-2024-10-01 in=5 out=20 read=2.5 audio-in=100 audio-out=200 audio-read=20
gpt-4o-realtime-preview-2025-06-03 in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-search-preview in=2.5 out=10
gpt-4o-search-preview-2025-03-11 in=2.5 out=10
gpt-4o-transcribe in=2.5 out=10 audio-in=6 unit.request_audio_token=0.006
gpt-4o-transcribe-diarize in=2.5 out=10 audio-in=6
gpt-4o.ft in=3.75 out=15 read=1.875 unit.file_search=0.0025
gpt-5 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-2025-08-07 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-chat-latest in=1.25 out=10 read=0.125 unit.routing_units=0.00000014
gpt-5-codex in=1.25 out=10 read=0.125
gpt-5-mini in=0.25 out=2 read=0.025 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-mini-2025-08-07 in=0.25 out=2 read=0.025 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-nano in=0.05 out=0.4 read=0.005 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-nano-2025-08-07 in=0.05 out=0.4 read=0.005 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-pro in=15 out=120 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-pro-2025-10-06 in=15 out=120 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-search-api in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5-search-api-2025-10-14 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.1 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-2025-11-13 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-chat-latest in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.1-codex in=1.25 out=10 read=0.125
gpt-5.1-codex-mini in=0.25 out=2 read=0.025
gpt-5.2 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-2025-12-11 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-chat-2025-12-11 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-chat-latest in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-codex in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-pro in=21 out=168 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.2-pro-2025-12-11 in=21 out=168 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.3-chat in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.3-codex in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4 in=2.5 out=15 read=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-2026-03-05 in=2.5 out=15 read=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-mini in=0.75 out=4.5 read=0.075 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-mini-2026-03-17 in=0.75 out=4.5 read=0.075 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-nano in=0.2 out=1.25 read=0.02 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-nano-2026-03-17 in=0.2 out=1.25 read=0.02 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.4-pro in=30 out=180 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.5 in=5 out=30 read=0.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.5-2026-04-24 in=5 out=30 read=0.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.5-pro in=30 out=180 read=3 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6 in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-2026-07-09 in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-luna in=0.2 out=1.2 read=0.02 write=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-luna-2026-07-09 in=0.2 out=1.2 read=0.02 write=0.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-sol in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-sol-2026-07-09 in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-terra in=2 out=12 read=0.2 write=2.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-5.6-terra-2026-07-09 in=2 out=12 read=0.2 write=2.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-audio in=2.5 out=10 audio-in=32 audio-out=64
gpt-audio-mini in=0.6 out=2.4 audio-in=10 audio-out=20
gpt-chat-latest in=5 out=30 read=0.5 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
gpt-image-1 in=5 read=1.25 image-in=10 image-out=40 image.default.default=0.167 image.default.1024x1024=0.167 image.default.1024x1536=0.25 image.default.1536x1024=0.25 image.high.default=0.167 image.high.1024x1024=0.167 image.high.1024x1536=0.25 image.high.1536x1024=0.25 image.medium.default=0.042 image.medium.1024x1024=0.042 image.medium.1024x1536=0.063 image.medium.1536x1024=0.063 image.low.default=0.011 image.low.1024x1024=0.011 image.low.1024x1536=0.016 image.low.1536x1024=0.016
gpt-image-1.5 in=5 out=10 read=1.25 image-in=8 image-out=32 image.default.default=0.133 image.default.1024x1024=0.133 image.default.1024x1536=0.2 image.default.1536x1024=0.2 image.high.default=0.133 image.high.1024x1024=0.133 image.high.1024x1536=0.2 image.high.1536x1024=0.2 image.medium.default=0.034 image.medium.1024x1024=0.034 image.medium.1024x1536=0.05 image.medium.1536x1024=0.05 image.low.default=0.009 image.low.1024x1024=0.009 image.low.1024x1536=0.013 image.low.1536x1024=0.013
gpt-image-2 in=5 read=1.25 image-in=8 image-out=30 image.default.default=0.211 image.default.1024x1024=0.211 image.default.1024x1536=0.165 image.default.1536x1024=0.165 image.high.default=0.211 image.high.1024x1024=0.211 image.high.1024x1536=0.165 image.high.1536x1024=0.165 image.medium.default=0.053 image.medium.1024x1024=0.053 image.medium.1024x1536=0.041 image.medium.1536x1024=0.041 image.low.default=0.006 image.low.1024x1024=0.006 image.low.1024x1536=0.005 image.low.1536x1024=0.005
gpt-image-2-2026-04-21 in=5 read=1.25 image-in=8 image-out=30 image.default.default=0.211 image.default.1024x1024=0.211 image.default.1024x1536=0.165 image.default.1536x1024=0.165 image.high.default=0.211 image.high.1024x1024=0.211 image.high.1024x1536=0.165 image.high.1536x1024=0.165 image.medium.default=0.053 image.medium.1024x1024=0.053 image.medium.1024x1536=0.041 image.medium.1536x1024=0.041 image.low.default=0.006 image.low.1024x1024=0.006 image.low.1024x1536=0.005 image.low.1536x1024=0.005
gpt-realtime in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4
gpt-realtime-1.5 in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4
gpt-realtime-2 in=4 out=24 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-2.1 in=4 out=24 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-2.1-mini in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-2025-08-28 in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4
gpt-realtime-mini in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-mini-2025-10-06 in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-mini-2025-12-15 in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
grok-3 in=3 out=15
grok-3-mini in=0.3 out=0.5
grok-4 in=3 out=15
grok-4-fast-non-reasoning in=0.2 out=0.5 read=0.05
grok-4-fast-reasoning in=0.2 out=0.5 read=0.05
grok-code-fast-1 in=0.2 out=1.5
o1 in=15 out=60 read=7.5 unit.file_search=0.0025
o1-2024-12-17 in=15 out=60 read=7.5 unit.file_search=0.0025
o1-mini in=3 out=12 read=1.5 unit.file_search=0.0025
o1-mini-2024-09-12 in=3 out=12 read=1.5 unit.file_search=0.0025
o1-preview in=15 out=60 read=7.5 unit.file_search=0.0025
o1-preview-2024-09-12 in=15 out=60 read=7.5 unit.file_search=0.0025
o1-pro in=150 out=600 unit.file_search=0.0025
o1-pro-2025-03-19 in=150 out=600 unit.file_search=0.0025
o3 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
o3-2025-04-16 in=2 out=8 read=0.5 unit.file_search=0.0025 unit.web_search=0.01
o3-deep-research in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-deep-research-2025-06-26 in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-mini in=1.1 out=4.4 read=0.55 unit.file_search=0.0025
o3-mini-2025-01-31 in=1.1 out=4.4 read=0.55 unit.file_search=0.0025
o3-pro in=20 out=80 unit.file_search=0.0025
o3-pro-2025-06-10 in=20 out=80 unit.file_search=0.0025
o4-mini in=1.1 out=4.4 read=0.275 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
o4-mini-2025-04-16 in=1.1 out=4.4 read=0.275 unit.web_search=0.01 unit.file_search=0.0025 unit.routing_units=0.00000014
o4-mini-deep-research in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-deep-research-2025-06-26 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
sora-2 unit.video_duration_seconds_720_1280=0.1 unit.video_duration_seconds_1280_720=0.1
sora-2-pro unit.video_duration_seconds_720_1280=0.3 unit.video_duration_seconds_1280_720=0.3 unit.video_duration_seconds_1024_1792=0.5 unit.video_duration_seconds_1792_1024=0.5
text-ada-001 in=0.4 out=0.4
text-babbage-001 in=0.5 out=0.5
text-curie-001 in=2 out=2
text-davinci-001 in=20 out=20
text-davinci-002 in=20 out=20
text-davinci-003 in=20 out=20
text-embedding-3-large in=0.13
text-embedding-3-small in=0.02
text-embedding-ada-002 in=0.1
tts in=15
tts-1 in=15
tts-1-hd in=30
tts-hd in=30
# bedrock
ai21.j2-mid-v1 in=12.5 out=12.5
ai21.j2-ultra-v1 in=18.8 out=18.8
amazon.nova-lite-v1:0 in=0.06 out=0.24 read=0.015 write=0.06
amazon.nova-micro-v1:0 in=0.035 out=0.14 read=0.00875 write=0.035
amazon.nova-pro-v1:0 in=0.8 out=3.2 read=0.2 write=0.8
amazon.rerank-v1:0 in=1000
amazon.titan-embed-g1-text-02 in=0.02
amazon.titan-embed-image-v1 in=0.8 unit.input_image=0.00006
amazon.titan-embed-text-v1 in=0.1
amazon.titan-embed-text-v2:0 in=0.02
amazon.titan-text-express-v1 in=0.2 out=0.6
amazon.titan-text-lite-v1 in=0.15 out=0.2
anthropic.claude-3-5-haiku-20241022-v1:0 in=0.8 out=4 read=0.08 write=1 unit.cache_write_1h=0.0000016
anthropic.claude-3-5-sonnet-20240620-v1:0 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
anthropic.claude-3-5-sonnet-20241022-v2:0 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
anthropic.claude-3-7-sonnet-20250219-v1:0 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
anthropic.claude-3-haiku-20240307-v1:0 in=0.25 out=1.25
anthropic.claude-3-opus-20240229-v1:0 in=15 out=75
anthropic.claude-3-sonnet-20240229-v1:0 in=3 out=15
anthropic.claude-fable-5 in=11 out=55 read=1.1 write=13.75 batch.in=5.5 batch.out=27.5 unit.cache_write_1h=0.000022
anthropic.claude-fable-5-v1 in=11 out=55 read=1.1 write=13.75 batch.in=5.5 batch.out=27.5 unit.cache_write_1h=0.000022
anthropic.claude-haiku-4-5-20251001-v1:0 in=1.1 out=5.5 read=0.11 write=1.375 unit.cache_write_1h=0.0000022
anthropic.claude-instant-v1 in=0.8 out=2.4
anthropic.claude-opus-4-1-20250805-v1:0 in=15 out=75 read=1.5 write=18.75 unit.cache_write_1h=0.00003
anthropic.claude-opus-4-20250514-v1:0 in=15 out=75 read=1.5 write=18.75 unit.cache_write_1h=0.00003
anthropic.claude-opus-4-5-20251101-v1:0 in=5.5 out=27.5 read=0.55 write=6.875 unit.cache_write_1h=0.000011
anthropic.claude-opus-4-6-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-4-6-v1:0 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-4-7 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-4-7-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-4-8 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-4-8-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-5 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-opus-5-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
anthropic.claude-sonnet-4-20250514-v1:0-gt-200k in=6 out=22.5 read=0.6 write=7.5 unit.cache_write_1h=0.000012
anthropic.claude-sonnet-4-20250514-v1:0-lte-200k in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
anthropic.claude-sonnet-4-5-20250929-v1:0-gt-200k in=6.6 out=24.75 read=0.66 write=8.25 unit.cache_write_1h=0.0000132
anthropic.claude-sonnet-4-5-20250929-v1:0-lte-200k in=3.3 out=16.5 read=0.33 write=4.125 unit.cache_write_1h=0.0000066
anthropic.claude-sonnet-4-6 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
anthropic.claude-sonnet-4-6-v1 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
anthropic.claude-sonnet-4-6-v1:0 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
anthropic.claude-sonnet-5 in=2.2 out=11 read=0.22 write=2.75 batch.in=1.1 batch.out=5.5 unit.cache_write_1h=0.0000044
anthropic.claude-sonnet-5-v1 in=2.2 out=11 read=0.22 write=2.75 batch.in=1.1 batch.out=5.5 unit.cache_write_1h=0.0000044
anthropic.claude-v1 in=8 out=24
anthropic.claude-v2 in=8 out=24
anthropic.claude-v2:1 in=8 out=24
claude in=8 out=24
claude-3-5-haiku-20241022 in=0.8 out=4 read=0.08 write=1 unit.cache_write_1h=0.0000016
claude-3-5-sonnet-20240620 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-3-5-sonnet-20241022 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-3-7-sonnet-20250219 in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-3-haiku-20240307 in=0.25 out=1.25
claude-3-opus-20240229 in=15 out=75
claude-3-sonnet-20240229 in=3 out=15
claude-haiku-4-5-20251001 in=1 out=5 read=0.1 write=1.25 unit.cache_write_1h=0.000002
claude-instant in=0.8 out=2.4
claude-opus-4-1-20250805 in=15 out=75 read=1.5 write=18.75 unit.cache_write_1h=0.00003
claude-opus-4-20250514 in=15 out=75 read=1.5 write=18.75 unit.cache_write_1h=0.00003
claude-opus-4-5-20251101 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
claude-opus-4-6 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-sonnet-4-20250514-gt-200k in=6 out=22.5 read=0.6 write=7.5 unit.cache_write_1h=0.000012
claude-sonnet-4-20250514-lte-200k in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-sonnet-4-5-20250929-gt-200k in=6 out=22.5 read=0.6 write=7.5 unit.cache_write_1h=0.000012
claude-sonnet-4-5-20250929-lte-200k in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
claude-sonnet-4-6 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
claude-sonnet-4-6-v1 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
cohere.command-light-text-v14 in=0.3 out=0.6
cohere.command-r-plus-v1:0 in=3 out=15
cohere.command-r-v1:0 in=0.5 out=1.5
cohere.command-text-v14 in=1.5 out=2
cohere.embed-english-v3 in=0.1
cohere.embed-multilingual-v3 in=0.1
cohere.embed-v4:0 in=0.12
cohere.rerank-v3-5:0 in=2000
deepseek.r1-v1:0 in=1.35 out=5.4
deepseek.v3-v1:0 in=0.58 out=1.68
deepseek.v3.2 in=0.62 out=1.85
eu.anthropic.claude-fable-5 in=11 out=55 read=1.1 write=13.75 batch.in=5.5 batch.out=27.5 unit.cache_write_1h=0.000022
eu.anthropic.claude-fable-5-v1 in=11 out=55 read=1.1 write=13.75 batch.in=5.5 batch.out=27.5 unit.cache_write_1h=0.000022
eu.anthropic.claude-opus-4-6-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-4-6-v1:0 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-4-7 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-4-7-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-4-8 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-4-8-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-5 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-opus-5-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
eu.anthropic.claude-sonnet-4-6 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
eu.anthropic.claude-sonnet-4-6-v1 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
eu.anthropic.claude-sonnet-4-6-v1:0 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
eu.anthropic.claude-sonnet-5 in=2.2 out=11 read=0.22 write=2.75 batch.in=1.1 batch.out=5.5 unit.cache_write_1h=0.0000044
eu.anthropic.claude-sonnet-5-v1 in=2.2 out=11 read=0.22 write=2.75 batch.in=1.1 batch.out=5.5 unit.cache_write_1h=0.0000044
global.anthropic.claude-fable-5 in=10 out=50 read=1 write=12.5 batch.in=5 batch.out=25 unit.cache_write_1h=0.00002
global.anthropic.claude-fable-5-v1 in=10 out=50 read=1 write=12.5 batch.in=5 batch.out=25 unit.cache_write_1h=0.00002
global.anthropic.claude-haiku-4-5-20251001-v1:0 in=1 out=5 read=0.1 write=1.25 unit.cache_write_1h=0.000002
global.anthropic.claude-opus-4-5-20251101-v1:0 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-4-6-v1 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-4-6-v1:0 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-4-7-v1 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-4-8-v1 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-opus-5-v1 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
global.anthropic.claude-sonnet-4-5-20250929-v1:0-gt-200k in=6 out=22.5 read=0.6 write=7.5 unit.cache_write_1h=0.000012
global.anthropic.claude-sonnet-4-5-20250929-v1:0-lte-200k in=3 out=15 read=0.3 write=3.75 unit.cache_write_1h=0.000006
global.anthropic.claude-sonnet-4-6 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
global.anthropic.claude-sonnet-4-6-v1 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
global.anthropic.claude-sonnet-4-6-v1:0 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
global.anthropic.claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004
global.anthropic.claude-sonnet-5-v1 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004
global.openai.gpt-5.6-luna in=0.2 out=1.2 read=0.02 write=0.25
global.openai.gpt-5.6-sol in=5 out=30 read=0.5 write=6.25
global.openai.gpt-5.6-terra in=2 out=12 read=0.2 write=2.5
global.xai.grok-4.6 in=2 out=6 read=0.5
in.openai.gpt-5.6-luna in=0.22 out=1.32 read=0.022 write=0.275
in.openai.gpt-5.6-terra in=2.2 out=13.2 read=0.22 write=2.75
meta.llama2-13b-chat-v1 in=0.75 out=1
meta.llama2-70b-chat-v1 in=1.95 out=2.56
meta.llama3-1-405b-instruct-v1:0 in=2.4 out=2.4
meta.llama3-1-70b-instruct-v1:0 in=0.72 out=0.72
meta.llama3-1-8b-instruct-v1:0 in=0.22 out=0.22
meta.llama3-2-11b-instruct-v1:0 in=0.16 out=0.16
meta.llama3-2-1b-instruct-v1:0 in=0.1 out=0.1
meta.llama3-2-3b-instruct-v1:0 in=0.15 out=0.15
meta.llama3-2-90b-instruct-v1:0 in=0.72 out=0.72
meta.llama3-3-70b-instruct-v1:0 in=0.72 out=0.72
meta.llama3-70b-instruct-v1:0 in=2.65 out=3.5
meta.llama3-8b-instruct-v1:0 in=0.4 out=0.6
meta.llama4-maverick-17b-instruct-v1:0 in=0.24 out=0.97
meta.llama4-scout-17b-instruct-v1:0 in=0.17 out=0.66
minimax.minimax-m2 in=0.3 out=1.2
minimax.minimax-m2.1 in=0.3 out=1.2
minimax.minimax-m2.5 in=0.3 out=1.2
mistral.devstral-2-123b in=0.4 out=2
mistral.magistral-small-2509 in=0.5 out=1.5
mistral.ministral-3-14b-instruct in=0.2 out=0.2
mistral.ministral-3-3b-instruct in=0.1 out=0.1
mistral.ministral-3-8b-instruct in=0.15 out=0.15
mistral.mistral-7b-instruct-v0:2 in=0.15 out=0.2
mistral.mistral-large-2402-v1:0 in=4 out=12
mistral.mistral-large-2407-v1:0 in=2 out=6
mistral.mistral-large-3-675b-instruct in=0.5 out=1.5
mistral.mistral-small-2402-v1:0 in=1 out=3
mistral.mixtral-8x7b-instruct-v0:1 in=0.45 out=0.7
mistral.pixtral-large-2502-v1:0 in=2 out=6
mistral.voxtral-mini-3b-2507 in=0.04 out=0.04
mistral.voxtral-small-24b-2507 in=0.1 out=0.3
moonshot.kimi-k2-thinking in=0.6 out=2.5
moonshotai.kimi-k2.5 in=0.6 out=3
openai.gpt-5.6-luna in=0.22 out=1.32 read=0.022 write=0.275
openai.gpt-5.6-sol in=5.5 out=33 read=0.55 write=6.875
openai.gpt-5.6-terra in=2.2 out=13.2 read=0.22 write=2.75
openai.gpt-oss-120b-1:0 in=0.15 out=0.6
openai.gpt-oss-20b-1:0 in=0.07 out=0.3
qwen.qwen3-235b-a22b-2507-v1:0 in=0.22 out=0.88
qwen.qwen3-32b-v1:0 in=0.15 out=0.6
qwen.qwen3-coder-30b-a3b-v1:0 in=0.15 out=0.6
qwen.qwen3-coder-480b-a35b-v1:0 in=0.45 out=1.8
qwen.qwen3-coder-next in=0.5 out=1.2
qwen.qwen3-next-80b-a3b in=0.15 out=1.2
qwen.qwen3-vl-235b-a22b in=0.53 out=2.66
rerank-v4.0-fast in=2000
rerank-v4.0-pro in=2500
stability.sd3-5-large-v1 image.default.default=0.08
stability.sd3-5-large-v1:0 image.default.default=0.08
stability.sd3-large-v1:0 image.default.default=0.08
stability.stable-diffusion-xl-v0 image.default.default=0.04
stability.stable-diffusion-xl-v0::premium image.default.default=0.08
stability.stable-diffusion-xl-v1 image.default.default=0.04
stability.stable-diffusion-xl-v1::premium image.default.default=0.08
stability.stable-image-core-v1 image.default.default=0.04
stability.stable-image-core-v1:0 image.default.default=0.04
stability.stable-image-core-v1:1 image.default.default=0.04
stability.stable-image-ultra-v1 image.default.default=0.14
stability.stable-image-ultra-v1:0 image.default.default=0.14
stability.stable-image-ultra-v1:1 image.default.default=0.14
us-gov.anthropic.claude-opus-4-8 in=6 out=30 read=0.6 write=7.5 unit.cache_write_1h=0.000012
us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0-gt-200k in=7.2 out=27 read=0.72 write=9 unit.cache_write_1h=0.0000144
us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0-lte-200k in=3.6 out=18 read=0.36 write=4.5 unit.cache_write_1h=0.0000072
us-gov.anthropic.claude-sonnet-5 in=2.4 out=12 read=0.24 write=3 unit.cache_write_1h=0.0000048
us.amazon.nova-pro-v1 in=0.8 out=3.2 read=0.2 write=0.8
us.anthropic.claude-fable-5 in=11 out=55 read=1.1 write=13.75 batch.in=5.5 batch.out=27.5 unit.cache_write_1h=0.000022
us.anthropic.claude-fable-5-v1 in=11 out=55 read=1.1 write=13.75 batch.in=5.5 batch.out=27.5 unit.cache_write_1h=0.000022
us.anthropic.claude-opus-4-6-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-4-6-v1:0 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-4-7 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-4-7-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-4-8 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-4-8-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-5 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-opus-5-v1 in=5.5 out=27.5 read=0.55 write=6.875 batch.in=2.75 batch.out=13.75 unit.cache_write_1h=0.000011
us.anthropic.claude-sonnet-4-6 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
us.anthropic.claude-sonnet-4-6-v1 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
us.anthropic.claude-sonnet-4-6-v1:0 in=3.3 out=16.5 read=0.33 write=4.125 batch.in=1.65 batch.out=8.25 unit.cache_write_1h=0.0000066
us.anthropic.claude-sonnet-5 in=2.2 out=11 read=0.22 write=2.75 batch.in=1.1 batch.out=5.5 unit.cache_write_1h=0.0000044
us.anthropic.claude-sonnet-5-v1 in=2.2 out=11 read=0.22 write=2.75 batch.in=1.1 batch.out=5.5 unit.cache_write_1h=0.0000044
us.openai.gpt-5.6-luna in=0.22 out=1.32 read=0.022 write=0.275
us.openai.gpt-5.6-sol in=5.5 out=33 read=0.55 write=6.875
us.openai.gpt-5.6-terra in=2.2 out=13.2 read=0.22 write=2.75
us.writer.palmyra-x4-v1:0 in=2.5 out=10
us.writer.palmyra-x5-v1:0 in=0.6 out=6
us.xai.grok-4.6 in=2.2 out=6.6 read=0.55
writer.palmyra-vision-7b-v1:0 in=0.15 out=0.6
writer.palmyra-x4-v1:0 in=2.5 out=10
writer.palmyra-x5-v1:0 in=0.6 out=6
xai.grok-4.6 in=2 out=6 read=0.5
zai.glm-4.7 in=0.6 out=2.2
zai.glm-4.7-flash in=0.07 out=0.4
zai.glm-5 in=1 out=3.2
# bedrock-mantle
anthropic.claude-fable-5 in=10 out=50 read=1 write=12.5 unit.cache_write_1h=0.00002
anthropic.claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
anthropic.claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
anthropic.claude-opus-5 in=5 out=25 read=0.5 write=6.25 unit.cache_write_1h=0.00001
anthropic.claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 unit.cache_write_1h=0.000004
deepseek.v3.1 in=0.5974 out=1.7304
deepseek.v3.2 in=0.62 out=1.85
google.gemma-3-12b-it in=0.09 out=0.29
google.gemma-3-27b-it in=0.23 out=0.38
google.gemma-3-4b-it in=0.04 out=0.08
google.gemma-4-26b-a4b in=0.13 out=0.4
google.gemma-4-31b in=0.14 out=0.4
google.gemma-4-e2b in=0.04 out=0.08
minimax.minimax-m2 in=0.3 out=1.2
minimax.minimax-m2.1 in=0.3 out=1.2
minimax.minimax-m2.5 in=0.3 out=1.2
mistral.devstral-2-123b in=0.4 out=2
mistral.magistral-small-2509 in=0.5 out=1.5
mistral.ministral-3-14b-instruct in=0.2 out=0.2
mistral.ministral-3-3b-instruct in=0.1 out=0.1
mistral.ministral-3-8b-instruct in=0.15 out=0.15
mistral.mistral-large-3-675b-instruct in=0.5 out=1.5
mistral.voxtral-mini-3b-2507 in=0.04 out=0.04
mistral.voxtral-small-24b-2507 in=0.1 out=0.3
moonshotai.kimi-k2-thinking in=0.6 out=2.5
moonshotai.kimi-k2.5 in=0.6 out=3
nvidia.nemotron-nano-12b-v2 in=0.06 out=0.23
nvidia.nemotron-nano-3-30b in=0.06 out=0.24
nvidia.nemotron-nano-9b-v2 in=0.06 out=0.23
nvidia.nemotron-super-3-120b in=0.15 out=0.65
openai.gpt-5.4 in=2.5 out=15 read=0.25 unit.web_search=0.01 unit.file_search=0.0025
openai.gpt-5.5 in=5 out=30 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
openai.gpt-5.6-luna in=0.22 out=1.32 read=0.022 write=0.275 unit.web_search=0.01 unit.file_search=0.0025
openai.gpt-5.6-sol in=5 out=30 read=0.5 write=6.25 unit.web_search=0.01 unit.file_search=0.0025
openai.gpt-5.6-terra in=2.2 out=13.2 read=0.22 write=2.75 unit.web_search=0.01 unit.file_search=0.0025
openai.gpt-oss-120b in=0.1545 out=0.618
openai.gpt-oss-20b in=0.0721 out=0.309
openai.gpt-oss-safeguard-120b in=0.15 out=0.6
openai.gpt-oss-safeguard-20b in=0.07 out=0.2
qwen.qwen3-235b-a22b-2507 in=0.2266 out=0.9064
qwen.qwen3-32b in=0.1545 out=0.618
qwen.qwen3-coder-30b-a3b-instruct in=0.1545 out=0.618
qwen.qwen3-coder-480b-a35b-instruct in=0.5 out=1.2
qwen.qwen3-coder-next in=0.5 out=1.2
qwen.qwen3-next-80b-a3b-instruct in=0.15 out=1.2
qwen.qwen3-vl-235b-a22b-instruct in=0.53 out=2.66
writer.palmyra-vision-7b in=0.15 out=0.6
xai.grok-4.6 in=2.2 out=6.6 read=0.55
zai.glm-4.6 in=0.6 out=2.2
zai.glm-4.7 in=0.6 out=2.2
zai.glm-4.7-flash in=0.07 out=0.4
zai.glm-5 in=1 out=3.2
# byteplus
deepseek-v3-2-251201-gt-32k in=0.56 out=0.84 read=0.056
deepseek-v3-2-251201-lte-32k in=0.28 out=0.42 read=0.056
deepseek-v3-2-gt-32k in=0.56 out=0.84 read=0.056
deepseek-v3-2-lte-32k in=0.28 out=0.42 read=0.056
seed-1-6-250915-gt-128k in=0.5 out=4 read=0.05
seed-1-6-250915-lte-128k in=0.25 out=2 read=0.05
seed-1-6-flash-250715-gt-128k in=0.1 out=0.8 read=0.015
seed-1-6-flash-250715-lte-128k in=0.075 out=0.3 read=0.015
seed-1-6-flash-gt-128k in=0.1 out=0.8 read=0.015
seed-1-6-flash-lte-128k in=0.075 out=0.3 read=0.015
seed-1-6-gt-128k in=0.5 out=4 read=0.05
seed-1-6-lte-128k in=0.25 out=2 read=0.05
seed-1-8-251228-gt-128k in=0.5 out=4 read=0.05
seed-1-8-251228-lte-128k in=0.25 out=2 read=0.05
seed-1-8-gt-128k in=0.5 out=4 read=0.05
seed-1-8-lte-128k in=0.25 out=2 read=0.05
seed-2-0-code-preview-260328-gt-128k in=1 out=6 read=0.2
seed-2-0-code-preview-260328-lte-128k in=0.5 out=3 read=0.1
seed-2-0-code-preview-gt-128k in=1 out=6 read=0.2
seed-2-0-code-preview-lte-128k in=0.5 out=3 read=0.1
seed-2-0-lite-260228-gt-128k in=0.5 out=4 read=0.1
seed-2-0-lite-260228-lte-128k in=0.25 out=2 read=0.05
seed-2-0-lite-gt-128k in=0.5 out=4 read=0.1
seed-2-0-lite-lte-128k in=0.25 out=2 read=0.05
seed-2-0-mini-260215-gt-128k in=0.2 out=0.8 read=0.04
seed-2-0-mini-260215-lte-128k in=0.1 out=0.4 read=0.02
seed-2-0-mini-gt-128k in=0.2 out=0.8 read=0.04
seed-2-0-mini-lte-128k in=0.1 out=0.4 read=0.02
seed-2-0-pro-260328-gt-128k in=1 out=6 read=0.2
seed-2-0-pro-260328-lte-128k in=0.5 out=3 read=0.1
seed-2-0-pro-gt-128k in=1 out=6 read=0.2
seed-2-0-pro-lte-128k in=0.5 out=3 read=0.1
seededit-3-0-i2i unit.generated_images=0.03
seededit-3-0-i2i-250628 unit.generated_images=0.03
seedream-3-0-t2i unit.generated_images=0.03
seedream-3-0-t2i-250415 unit.generated_images=0.03
seedream-4-0 unit.generated_images=0.03
seedream-4-0-250828 unit.generated_images=0.03
seedream-4-5 unit.generated_images=0.04
seedream-4-5-251128 unit.generated_images=0.04
seedream-5-0-lite unit.generated_images=0.035
seedream-5-0-lite-260128 unit.generated_images=0.035
skylark-embedding-vision-250615 unit.embedding_image_token=0 unit.embedding_text_token=0
skylark-embedding-vision-251215 unit.embedding_image_token=0 unit.embedding_text_token=0
# cerebras
gemma-4-31b in=0.99 out=1.49
gpt-oss-120b in=0.35 out=0.75
llama-3.3-70b in=0.85 out=1.2
llama-4-maverick-17b-128e-instruct in=0.2 out=0.6
llama-4-scout-17b-16e-instruct in=0.65 out=0.85
llama3.1-70b in=0.6 out=0.6
llama3.1-8b in=0.1 out=0.1
qwen-3-235b-a22b-instruct-2507 in=0.6 out=1.2
qwen-3-235b-a22b-thinking-2507 in=0.6 out=1.2
qwen-3-32b in=0.4 out=0.8
qwen-3-coder-480b in=2 out=2
zai-glm-4.6 in=2.25 out=2.75
zai-glm-4.7 in=2.25 out=2.75
# claude-platform-aws
claude-fable-5 in=10 out=50 read=1 write=12.5 batch.in=5 batch.out=25 unit.cache_write_1h=0.00002
claude-haiku-4-5 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002
claude-haiku-4-5-20251001 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002
claude-opus-4-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-opus-4-5-20251101 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-opus-4-6 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-opus-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
claude-sonnet-4-5-20250929-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012
claude-sonnet-4-5-20250929-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
claude-sonnet-4-5-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012
claude-sonnet-4-5-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
claude-sonnet-4-6 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006
claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004
# cohere
command in=1 out=2
command-light in=0.3 out=0.6
command-light-nightly in=0.3 out=0.6
command-nightly in=1 out=2
command-r in=0.15 out=0.6
command-r-plus in=2.5 out=10
command-r7b in=0.0375 out=0.15
embed-english-light-v2.0 in=0.1
embed-english-v2.0 in=0.1
embed-english-v3.0 in=0.1
embed-multilingual-v2.0 in=0.1
embed-multilingual-v3.0 in=0.1
rerank-english-v2.0 in=1000
rerank-english-v3.0 in=2000
rerank-multilingual-v2.0 in=1000
rerank-multilingual-v3.0 in=2000
rerank-v3.5 in=2000
rerank-v4.0-fast in=2000
rerank-v4.0-pro in=2500
# dashscope
MiniMax-M2.1 in=0.27 out=0.95
MiniMax-M2.5 in=0.304 out=1.213
Moonshot-Kimi-K2-Instruct in=0.574 out=2.294
deepseek-r1 in=0.574 out=2.294
deepseek-v3.2 in=0.57 out=1.71 read=0.114
glm-4.6 in=0.431 out=2.007
glm-4.7 in=0.431 out=2.007
glm-5 in=0.573 out=2.58
kimi-k2-thinking in=0.574 out=2.294
kimi-k2.5 in=0.574 out=3.011
qvq-max in=1.2 out=4.8
qvq-max-2025-03-25 in=1.2 out=4.8
qvq-max-2025-05-15 in=1.147 out=4.588
qvq-max-latest in=1.2 out=4.8
qvq-plus in=0.287 out=0.717
qvq-plus-2025-05-15 in=0.287 out=0.717
qvq-plus-latest in=0.287 out=0.717
qwen-coder in=0.3 out=1.5
qwen-coder-plus in=0.502 out=1.004
qwen-coder-plus-2024-11-06 in=0.502 out=1.004
qwen-coder-plus-latest in=0.502 out=1.004
qwen-coder-turbo in=0.287 out=0.861
qwen-coder-turbo-2024-09-19 in=0.287 out=0.861
qwen-coder-turbo-latest in=0.287 out=0.861
qwen-flash in=0.05 out=0.4 read=0.01
qwen-flash-2025-07-28 in=0.05 out=0.4
qwen-flash-character in=0.05 out=0.4
qwen-long-2025-01-25 in=0.072 out=0.287
qwen-long-latest in=0.072 out=0.287
qwen-math-plus in=0.574 out=1.721
qwen-math-plus-2024-08-16 in=0.574 out=1.721
qwen-math-plus-2024-09-19 in=0.574 out=1.721
qwen-math-plus-latest in=0.574 out=1.721
qwen-math-turbo in=0.287 out=0.861
qwen-math-turbo-2024-09-19 in=0.287 out=0.861
qwen-math-turbo-latest in=0.287 out=0.861
qwen-max in=1.6 out=6.4 read=0.32
qwen-max-2025-01-25 in=1.6 out=6.4
qwen-max-latest in=1.6 out=6.4
qwen-mt-flash in=0.16 out=0.49
qwen-mt-lite in=0.12 out=0.36
qwen-mt-plus in=2.46 out=7.37
qwen-mt-turbo in=0.16 out=0.49
qwen-omni-turbo in=0.07 out=0.27 audio-in=4.44 audio-out=8.89
qwen-omni-turbo-2025-01-19 in=0.058 out=0.23 audio-in=3.584 audio-out=7.168
qwen-omni-turbo-2025-03-26 in=0.07 out=0.27 audio-in=4.44 audio-out=8.89
qwen-omni-turbo-latest in=0.07 out=0.27 audio-in=4.44 audio-out=8.89
qwen-omni-turbo-realtime in=0.27 out=1.07 audio-in=4.44 audio-out=8.89
qwen-omni-turbo-realtime-2025-05-08 in=0.27 out=1.07 audio-in=4.44 audio-out=8.89
qwen-omni-turbo-realtime-latest in=0.27 out=1.07 audio-in=4.44 audio-out=8.89
qwen-plus in=0.4 out=1.2
qwen-plus-2025-01-25 in=0.4 out=1.2
qwen-plus-2025-04-28 in=0.4 out=1.2
qwen-plus-2025-07-14 in=0.4 out=1.2
qwen-plus-2025-07-28 in=0.4 out=1.2
qwen-plus-2025-09-11 in=0.4 out=1.2
qwen-plus-2025-12-01 in=0.4 out=1.2
qwen-plus-character in=0.5 out=1.4
qwen-plus-character-ja in=0.5 out=1.4
qwen-plus-latest in=0.4 out=1.2
qwen-turbo in=0.05 out=0.2
qwen-turbo-2024-11-01 in=0.05 out=0.2
qwen-turbo-2025-04-28 in=0.05 out=0.2
qwen-turbo-latest in=0.05 out=0.2
qwen-vl-max in=0.8 out=3.2
qwen-vl-max-2025-04-02 in=0.431 out=1.291
qwen-vl-max-2025-04-08 in=0.8 out=3.2
qwen-vl-max-2025-08-13 in=0.8 out=3.2
qwen-vl-max-latest in=0.8 out=3.2
qwen-vl-ocr in=0.07 out=0.16
qwen-vl-ocr-2025-11-20 in=0.07 out=0.16
qwen-vl-ocr-latest in=0.043 out=0.072
qwen-vl-plus in=0.21 out=0.63
qwen-vl-plus-2025-01-25 in=0.21 out=0.63
qwen-vl-plus-2025-05-07 in=0.21 out=0.63
qwen-vl-plus-2025-07-10 in=0.022 out=0.216
qwen-vl-plus-2025-08-15 in=0.21 out=0.63
qwen-vl-plus-latest in=0.21 out=0.63
qwen2-5-14b-instruct in=0.35 out=1.4
qwen2-5-32b-instruct in=0.7 out=2.8
qwen2-5-72b-instruct in=1.4 out=5.6
qwen2-5-7b-instruct in=0.175 out=0.7
qwen2-5-omni-7b in=0.1 out=0.4 audio-in=6.76
qwen2-5-vl-32b-instruct in=1.4 out=4.2
qwen2-5-vl-3b-instruct in=0.21 out=0.63
qwen2-5-vl-72b-instruct in=2.8 out=8.4
qwen2-5-vl-7b-instruct in=0.35 out=1.05
qwen2-vl-72b-instruct in=2.294 out=6.881
qwen3-14b in=0.35 out=1.4
qwen3-235b-a22b in=0.7 out=2.8
qwen3-30b-a3b in=0.7 out=2.8
qwen3-32b in=0.7 out=2.8
qwen3-8b in=0.18 out=0.7
qwen3-asr-flash in=0.035 out=0.035
qwen3-coder-30b-a3b-instruct in=0.45 out=2.25
qwen3-coder-480b-a35b-instruct in=1.5 out=7.5
qwen3-coder-flash in=0.3 out=1.5
qwen3-coder-flash-2025-07-28 in=0.3 out=1.5
qwen3-coder-next in=0.3 out=1.5
qwen3-coder-plus in=1 out=5
qwen3-coder-plus-2025-07-22 in=1 out=5
qwen3-coder-plus-2025-09-23 in=1 out=5
qwen3-livetranslate-flash-realtime in=10 out=10 audio-in=10 audio-out=38
qwen3-max in=1.2 out=6 read=0.24
qwen3-max-2025-09-23 in=0.861 out=3.441
qwen3-max-2026-01-23 in=1.2 out=6
qwen3-max-preview in=1.2 out=6 read=0.24
qwen3-next-80b-a3b-instruct in=0.5 out=2
qwen3-next-80b-a3b-thinking in=0.5 out=6
qwen3-omni-30b-a3b-captioner in=3.81 out=3.06
qwen3-omni-flash in=0.43 out=1.66 audio-in=3.81 audio-out=15.11
qwen3-omni-flash-2025-09-15 in=0.43 out=1.66 audio-in=3.81 audio-out=15.11
qwen3-omni-flash-2025-12-01 in=0.43 out=1.66 audio-in=3.81 audio-out=15.11
qwen3-omni-flash-realtime in=0.52 out=1.99 audio-in=4.57 audio-out=18.13
qwen3-omni-flash-realtime-2025-09-15 in=0.52 out=1.99 audio-in=4.57 audio-out=18.13
qwen3-omni-flash-realtime-2025-12-01 in=0.52 out=1.99 audio-in=4.57 audio-out=18.13
qwen3-vl-235b-a22b in=0.4 out=1.6
qwen3-vl-235b-a22b-instruct in=0.4 out=1.6
qwen3-vl-235b-a22b-thinking in=0.4 out=4
qwen3-vl-30b-a3b in=0.2 out=0.8
qwen3-vl-30b-a3b-instruct in=0.2 out=0.8
qwen3-vl-30b-a3b-thinking in=0.2 out=2.4
qwen3-vl-32b-instruct in=0.16 out=0.64
qwen3-vl-32b-thinking in=0.16 out=0.64
qwen3-vl-8b-instruct in=0.18 out=0.7
qwen3-vl-8b-thinking in=0.18 out=2.1
qwen3-vl-flash in=0.05 out=0.4
qwen3-vl-flash-2025-10-15 in=0.05 out=0.4
qwen3-vl-flash-2026-01-22 in=0.05 out=0.4
qwen3-vl-plus in=0.2 out=1.6
qwen3-vl-plus-2025-09-23 in=0.2 out=1.6
qwen3-vl-plus-2025-12-19 in=0.2 out=1.6
qwen3.5-flash in=0.1 out=0.4
qwen3.5-flash-2026-02-23 in=0.1 out=0.4
qwen3.5-plus in=0.4 out=2.4
qwen3.5-plus-2026-02-15 in=0.4 out=2.4
qwq-32b in=0.15 out=0.58
qwq-32b-preview in=0.15 out=0.6
qwq-plus in=0.8 out=2.4
qwq-plus-2025-03-05 in=0.8 out=2.4
qwq-plus-latest in=0.8 out=2.4
# deepbricks
Claude-3.5-Sonnet in=2 out=8
Claude-HaiKu-4.5 in=0.5 out=2.5
Claude-Sonnet-4.5 in=1.5 out=7.5
GPT-3.5-turbo in=0.2 out=0.6
GPT-3.5-turbo-instruct in=0.6 out=0.8
GPT-4-turbo in=4 out=10
GPT-4.1 in=1 out=4
GPT-4.1-mini in=0.4 out=1.6
GPT-4o in=1.5 out=4
GPT-4o-2024-08-06 in=1.5 out=4
GPT-4o-mini in=0.1 out=0.4
GPT-5-Chat in=0.65 out=50
GPT-5.1 in=0.65 out=50
LLama-3-70b in=0.4 out=0.6
LLama-3.1-405b in=1.5 out=3
LLama-3.1-70b in=0.4 out=0.6
claude-3-5-sonnet-20240620 in=1.5 out=7.5
claude-3.5-sonnet in=1.5 out=7.5
claude-haiku-4.5 in=0.5 out=2.5
claude-sonnet-4.5 in=1.5 out=7.5
dall-e-3 image.standard.default=0.015 image.standard.1024x1024=0.015 image.standard.1024x1792=0.02 image.standard.1792x1024=0.02 image.hd.default=0.03 image.hd.1024x1024=0.03 image.hd.1024x1792=0.04 image.hd.1792x1024=0.04 image.default.default=0.015 image.default.1024x1024=0.015 image.default.1024x1792=0.02 image.default.1792x1024=0.02
gemini-2.5-flash in=0.1 out=1
gemini-2.5-pro in=0.5 out=4
gpt-3.5-turbo in=0.2 out=0.6 batch.in=0.1 batch.out=0.3
gpt-3.5-turbo-0125 in=0.2 out=0.6 batch.in=0.1 batch.out=0.3
gpt-3.5-turbo-1106 in=0.2 out=0.6 batch.in=0.1 batch.out=0.3
gpt-3.5-turbo-instruct in=0.6 out=0.8
gpt-4-turbo in=4 out=10 batch.in=2 batch.out=5
gpt-4-turbo-0125-preview in=4 out=10 batch.in=2 batch.out=5
gpt-4-turbo-1106-preview in=4 out=10 batch.in=2 batch.out=5
gpt-4-turbo-preview in=4 out=10 batch.in=2 batch.out=5
gpt-4.1 in=1 out=4
gpt-4.1-mini in=0.125 out=0.5 batch.in=0.05 batch.out=0.2
gpt-4o in=1 out=4 batch.in=0.5 batch.out=2
gpt-4o-2024-08-06 in=1 out=4 batch.in=0.5 batch.out=2
gpt-5-chat in=0.65 out=5
gpt-5.1 in=0.65 out=5
o1 in=7.5 out=30
o1-mini in=0.55 out=2.2
o3-mini in=0.55 out=2.2
o4-mini in=0.55 out=2.2
# deepgram
aura-2-andromeda-en in=30
aura-2-apollo-en in=30
aura-2-thalia-en in=30
aura-asteria-en in=15
aura-luna-en in=15
nova-2 unit.request_audio_token=0.0043
nova-3 unit.request_audio_token=0.0043
nova-3-general unit.request_audio_token=0.0043
# deepinfra
Austism/chronos-hermes-13b-v2 in=0.4 out=0.4
BAAI/bge-base-en-v1.5 in=0.005
BAAI/bge-en-icl in=0.01
BAAI/bge-large-en-v1.5 in=0.01
BAAI/bge-m3 in=0.01
BAAI/bge-m3-multi in=0.01
ByteDance/Seed-1.8 in=0.25 out=2 read=0.05
ByteDance/Seed-2.0-code in=0.5 out=3 read=0.1
ByteDance/Seed-2.0-mini in=0.1 out=0.4 read=0.02
ByteDance/Seed-2.0-pro in=0.5 out=3 read=0.1
Gryphe/MythoMax-L2-13b in=0.4 out=0.4
MiniMaxAI/MiniMax-M2 in=0.27 out=1.15
MiniMaxAI/MiniMax-M2.1 in=0.27 out=0.95 read=0.03
MiniMaxAI/MiniMax-M2.5 in=0.15 out=1.15 read=0.03
NousResearch/Hermes-3-Llama-3.1-405B in=1 out=1
NousResearch/Hermes-3-Llama-3.1-70B in=0.3 out=0.3
PaddlePaddle/PaddleOCR-VL-0.9B in=0.14 out=0.8
Phind/Phind-CodeLlama-34B-v2 in=0.4 out=0.4
Qwen/QwQ-32B in=0.08 out=0.28
Qwen/Qwen/Qwen3.5-397B-A17B in=0.54 out=3.4
Qwen/Qwen2.5-72B-Instruct in=0.36 out=0.4
Qwen/Qwen2.5-7B-Instruct in=0.12 out=0.24
Qwen/Qwen2.5-Coder-32B-Instruct in=0.08 out=0.28
Qwen/Qwen2.5-VL-32B-Instruct in=0.2 out=0.6
Qwen/Qwen3-14B in=0.12 out=0.24
Qwen/Qwen3-235B-A22B in=0.071 out=0.1
Qwen/Qwen3-235B-A22B-Instruct-2507 in=0.071 out=0.1
Qwen/Qwen3-235B-A22B-Thinking-2507 in=0.23 out=2.3
Qwen/Qwen3-30B-A3B in=0.09 out=0.45
Qwen/Qwen3-32B in=0.08 out=0.28
Qwen/Qwen3-Coder-480B-A35B-Instruct in=0.4 out=1.6
Qwen/Qwen3-Coder-480B-A35B-Instruct-Turbo in=0.3 out=1 read=0.1
Qwen/Qwen3-Embedding-0.6B in=0.01
Qwen/Qwen3-Embedding-0.6B-batch in=0.005
Qwen/Qwen3-Embedding-4B in=0.02
Qwen/Qwen3-Embedding-4B-batch in=0.01
Qwen/Qwen3-Embedding-8B in=0.01
Qwen/Qwen3-Embedding-8B-batch in=0.04
Qwen/Qwen3-Max in=1.2 out=6 read=0.24
Qwen/Qwen3-Max-Thinking in=1.2 out=6 read=0.24
Qwen/Qwen3-Next-80B-A3B-Instruct in=0.09 out=1.1
Qwen/Qwen3-Reranker-0.6B in=0.01
Qwen/Qwen3-Reranker-4B in=0.025
Qwen/Qwen3-Reranker-8B in=0.05
Qwen/Qwen3-TTS in=2
Qwen/Qwen3-TTS-VoiceDesign in=2
Qwen/Qwen3-VL-235B-A22B-Instruct in=0.2 out=0.88
Qwen/Qwen3-VL-30B-A3B-Instruct in=0.15 out=0.6
Qwen/Qwen3.5-0.8B in=0.01 out=0.05
Qwen/Qwen3.5-122B-A10B in=0.29 out=2.4
Qwen/Qwen3.5-27B in=0.26 out=2.6
Qwen/Qwen3.5-2B in=0.02 out=0.1
Qwen/Qwen3.5-35B-A3B in=0.14 out=1 read=0.05
Qwen/Qwen3.5-397B-A17B in=0.49 out=3.6 read=0.3
Qwen/Qwen3.5-4B in=0.03 out=0.15
Qwen/Qwen3.5-9B in=0.04 out=0.15
Qwen/Qwen3.6-27B in=0.32 out=3.2
Qwen/Qwen3.6-35B-A3B in=0.15 out=0.95
Sao10K/L3-8B-Lunaris-v1-Turbo in=0.04 out=0.05
Sao10K/L3.1-70B-Euryale-v2.2 in=0.85 out=0.85
Sao10K/L3.3-70B-Euryale-v2.3 in=0.85 out=0.85
XiaomiMiMo/MiMo-V2.5 in=0.4 out=2 read=0.08
XiaomiMiMo/MiMo-V2.5-Pro in=1 out=3 read=0.2
allenai/Olmo-3.1-32B-Instruct in=0.2 out=0.6
allenai/olmOCR-2-7B-1025 in=0.09 out=0.19
allenai/olmOCR-7B-0725-FP8 in=0.09 out=0.19
anthropic/claude-3-7-sonnet-latest in=3.3 out=16.5 read=0.33
anthropic/claude-4-opus in=16.5 out=82.5
anthropic/claude-4-sonnet in=3.3 out=16.5
anthropic/claude-haiku-4-5 in=1 out=5
anthropic/claude-opus-4-7 in=5 out=25
anthropic/claude-sonnet-4-6 in=3 out=15
cognitivecomputations/dolphin-2.6-mixtral-8x7b in=0.12 out=0.39
deepinfra/airoboros-70b in=0.1 out=0.32
deepseek-ai/DeepSeek-OCR in=0.03 out=0.1
deepseek-ai/DeepSeek-R1 in=0.5 out=2.15 read=0.4
deepseek-ai/DeepSeek-R1-0528 in=0.5 out=2.15 read=0.4
deepseek-ai/DeepSeek-R1-0528-Turbo in=1 out=3
deepseek-ai/DeepSeek-R1-Distill-Llama-70B in=0.7 out=0.8
deepseek-ai/DeepSeek-R1-Distill-Qwen-32B in=0.7 out=0.8
deepseek-ai/DeepSeek-R1-Turbo in=0.5 out=2.15 read=0.4
deepseek-ai/DeepSeek-V3 in=0.32 out=0.89
deepseek-ai/DeepSeek-V3-0324 in=0.2 out=0.77 read=0.106
deepseek-ai/DeepSeek-V3-0324-Turbo in=0.2 out=0.77 read=0.106
deepseek-ai/DeepSeek-V3.1 in=0.21 out=0.79 read=0.168
deepseek-ai/DeepSeek-V3.1-Terminus in=0.27 out=0.95 read=0.13
deepseek-ai/DeepSeek-V3.2 in=0.26 out=0.38 read=0.13
deepseek-ai/DeepSeek-V4-Flash in=0.1 out=0.2 read=0.028
deepseek-ai/DeepSeek-V4-Pro in=1.3 out=2.6 read=0.1
google/embeddinggemma-300m in=0.002
google/gemini-1.5-flash in=0.075 out=0.3
google/gemini-1.5-flash-8b in=0.0375 out=0.15
google/gemini-2.0-flash-001 in=0.1 out=0.4
google/gemini-2.5-flash in=0.3 out=2.5
google/gemini-2.5-pro in=1.25 out=10
google/gemini-3.1-flash-lite in=0.25 out=1.5
google/gemini-3.1-pro in=2 out=12
google/gemma-3-12b-it in=0.04 out=0.13
google/gemma-3-27b-it in=0.08 out=0.16
google/gemma-3-4b-it in=0.04 out=0.08
google/gemma-4-26B-A4B-it in=0.07 out=0.34
google/gemma-4-26b-it in=0.07 out=0.34
google/gemma-4-31B-it in=0.13 out=0.38
google/gemma-4-31B-it-turbo in=0.12 out=0.37
google/gemma-4-31b-it in=0.13 out=0.38
intfloat/e5-base-v2 in=0.005
intfloat/e5-large-v2 in=0.01
intfloat/multilingual-e5-large in=0.01
intfloat/multilingual-e5-large-instruct in=0.01
lizpreciatior/lzlv_70b_fp16_hf in=0.35 out=0.4
meta-llama/Llama-2-13b-chat-hf in=0.03 out=0.04
meta-llama/Llama-2-70b-chat-hf in=0.4 out=0.4
meta-llama/Llama-3.2-11B-Vision-Instruct in=0.245 out=0.245
meta-llama/Llama-3.2-3B-Instruct in=0.02 out=0.02
meta-llama/Llama-3.2-90B-Vision-Instruct in=0.15 out=0.6
meta-llama/Llama-3.3-70B-Instruct in=0.1 out=0.32
meta-llama/Llama-3.3-70B-Instruct-Turbo in=0.1 out=0.32
meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 in=0.15 out=0.6
meta-llama/Llama-4-Maverick-17B-128E-Instruct-Turbo in=0.15 out=0.6
meta-llama/Llama-4-Scout-17B-16E-Instruct in=0.08 out=0.3
meta-llama/Llama-Guard-3-8B in=0.18 out=0.18
meta-llama/Llama-Guard-4-12B in=0.18 out=0.18
meta-llama/Meta-Llama-3-70B-Instruct in=0.23 out=0.4
meta-llama/Meta-Llama-3-8B-Instruct in=0.03 out=0.04
meta-llama/Meta-Llama-3.1-405B-Instruct in=0.09 out=0.09
meta-llama/Meta-Llama-3.1-70B-Instruct in=0.4 out=0.4
meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo in=0.4 out=0.4
meta-llama/Meta-Llama-3.1-8B-Instruct in=0.02 out=0.05
meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo in=0.02 out=0.03
microsoft/WizardLM-2-7B in=0.055 out=0.055
microsoft/WizardLM-2-8x22B in=0.48 out=0.48
microsoft/phi-4 in=0.07 out=0.14
mistralai/Devstral-Small-2507 in=0.075 out=0.2
mistralai/Mistral-7B-Instruct-v0.1 in=0.075 out=0.2
mistralai/Mistral-7B-Instruct-v0.3 in=0.03 out=0.055
mistralai/Mistral-Nemo-Instruct-2407 in=0.02 out=0.04
mistralai/Mistral-Small-24B-Instruct-2501 in=0.05 out=0.08
mistralai/Mistral-Small-3.1-24B-Instruct-2503 in=0.075 out=0.2
mistralai/Mistral-Small-3.2-24B-Instruct-2506 in=0.075 out=0.2
mistralai/Mixtral-8x7B-Instruct-v0.1 in=0.54 out=0.54
moonshotai/Kimi-K2-Instruct in=4 out=20 read=1.5
moonshotai/Kimi-K2-Instruct-0905 in=0.4 out=2 read=0.4
moonshotai/Kimi-K2-Thinking in=0.47 out=2 read=0.141
moonshotai/Kimi-K2.5 in=0.45 out=2.25 read=0.07
moonshotai/Kimi-K2.5-Turbo in=0.6 out=3 read=0.1
moonshotai/Kimi-K2.6 in=0.75 out=3.5 read=0.15
moonshotai/Kimi-K2.7-Code in=0.75 out=3.5 read=0.15
nvidia/Llama-3.1-Nemotron-70B-Instruct in=1.2 out=1.2
nvidia/Llama-3.3-Nemotron-Super-49B-v1.5 in=0.1 out=0.4
nvidia/NVIDIA-Nemotron-3-Super-120B-A12B in=0.1 out=0.5 read=0.04
nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL in=0.2 out=0.6
nvidia/NVIDIA-Nemotron-Nano-9B-v2 in=0.04 out=0.16
nvidia/Nemotron-3-Nano-30B-A3B in=0.05 out=0.2
nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning in=0.2 out=0.8
nvidia/llama-nemotron-embed-vl-1b-v2 in=0.01
openai/gpt-oss-120b in=0.039 out=0.19
openai/gpt-oss-120b-Turbo in=0.15 out=0.6
openai/gpt-oss-20b in=0.03 out=0.14
openchat/openchat_3.5 in=0.055 out=0.055
sentence-transformers/all-MiniLM-L12-v2 in=0.005
sentence-transformers/all-MiniLM-L6-v2 in=0.005
sentence-transformers/all-mpnet-base-v2 in=0.005
sentence-transformers/clip-ViT-B-32 in=0.005
sentence-transformers/clip-ViT-B-32-multilingual-v1 in=0.005
sentence-transformers/multi-qa-mpnet-base-dot-v1 in=0.005
sentence-transformers/paraphrase-MiniLM-L6-v2 in=0.005
shibing624/text2vec-base-chinese in=0.005
stepfun-ai/Step-3.5-Flash in=0.09 out=0.3 read=0.02
thenlper/gte-base in=0.005
thenlper/gte-large in=0.01
zai-org/GLM-4.5 in=0.43 out=1.74 read=0.08
zai-org/GLM-4.5-Air in=0.03 out=0.14
zai-org/GLM-4.6 in=0.43 out=1.74 read=0.08
zai-org/GLM-4.6V in=0.3 out=0.9
zai-org/GLM-4.7 in=0.4 out=1.75 read=0.08
zai-org/GLM-4.7-Flash in=0.06 out=0.4 read=0.01
zai-org/GLM-5 in=0.6 out=2.08 read=0.12
zai-org/GLM-5.1 in=1.05 out=3.5 read=0.2
# deepseek
deepseek-chat in=0.14 out=0.28 read=0.0028
deepseek-reasoner in=0.14 out=0.28 read=0.0028
deepseek-v4-flash in=0.14 out=0.28 read=0.0028
deepseek-v4-pro in=0.435 out=0.87 read=0.003625
# ember-cloud
glm-4.5 in=0.55 out=2 read=0.11
glm-4.5-air in=0.13 out=0.85 read=0.025
glm-4.6 in=0.35 out=1.71 read=0.08
glm-4.7 in=0.3 out=1.4 read=0.08
glm-4.7-flash in=0.06 out=0.4 read=0.01
glm-5 in=0.95 out=2.55 read=0.2
minimax-m2.5 in=0.3 out=1.1 read=0.03
# fal-ai
anthropic/claude-3-5-haiku in=0.8 out=4
anthropic/claude-3-5-sonnet in=3 out=15
anthropic/claude-3-haiku in=0.25 out=1.25
anthropic/claude-3.7-sonnet in=3 out=15
anthropic/claude-haiku-4.5 in=0.8 out=4
anthropic/claude-sonnet-4.5 in=3 out=15
deepseek/deepseek-r1 in=0.7 out=2.5
deepseek/deepseek-v3.1-terminus in=0.38 out=0.38
fal-ai/flux-2-pro image.default.default=0.03
fal-ai/flux-pro/kontext image.default.default=0.04
fal-ai/flux-pro/v1.1 image.default.default=0.04
fal-ai/flux-pro/v1.1-ultra image.default.default=0.06
fal-ai/flux/dev image.default.default=0.025
fal-ai/flux/schnell image.default.default=0.003
fal-ai/hidream-i1-fast image.default.default=0.01
fal-ai/hidream-i1-full image.default.default=0.05
fal-ai/ideogram/v2 image.default.default=0.08
fal-ai/ideogram/v2/turbo image.default.default=0.05
fal-ai/nano-banana-2 image.default.default=0.0398
fal-ai/nano-banana-pro image.default.default=0.0398
fal-ai/qwen-image image.default.default=0.02
fal-ai/recraft-v3 image.default.default=0.04
fal-ai/recraft/v4/pro/text-to-image image.default.default=0.04
fal-ai/seedream-v4 image.default.default=0.03
google/gemini-2.0-flash-001 in=0.1 out=0.4
google/gemini-2.5-flash in=0.3 out=2.5
google/gemini-2.5-flash-lite in=0.1 out=0.4
google/gemini-2.5-pro in=1.25 out=10
google/gemini-flash-1.5 in=0.075 out=0.3
google/gemini-flash-1.5-8b in=0.0375 out=0.15
google/gemini-pro-1.5 in=1.25 out=5
meta-llama/llama-3.1-70b-instruct in=0.4 out=0.4
meta-llama/llama-3.1-8b-instruct in=0.02 out=0.05
meta-llama/llama-3.2-1b-instruct in=0.027 out=0.2
meta-llama/llama-3.2-3b-instruct in=0.051 out=0.34
meta-llama/llama-3.2-90b-vision-instruct in=1.2 out=1.2
meta-llama/llama-4-maverick in=0.15 out=0.6
meta-llama/llama-4-scout in=0.08 out=0.3
openai/gpt-4.1 in=2 out=8
openai/gpt-4o in=2.5 out=10
openai/gpt-4o-mini in=0.15 out=0.6
openai/gpt-5-mini in=1.1 out=4.4
openai/gpt-5-nano in=0.1 out=0.4
openai/gpt-image-2 image.default.default=0.04
# fireworks-ai
100b in=0.9 out=0.9
16b in=0.2 out=0.2
4b in=0.1 out=0.1
WhereIsAI/UAE-Large-V1 in=0.016 out=0.016
dbrx-instruct in=1.2 out=1.2
deepseek-r1 in=8 out=8
deepseek-v3 in=0.56 out=1.68
deepseek-v4-flash in=0.14 out=0.28 read=0.028
deepseek-v4-pro in=1.74 out=3.48 read=0.14
fireworks-ai/kimi-k2p6 in=0.95 out=4 read=0.16
fireworks-ai/kimi-k2p6-fast in=2 out=8 read=0.3
glm-5 in=1 out=3.2
glm-5p1 in=1.4 out=4.4 read=0.26
glm-5p1-fast in=2.8 out=8.8 read=0.52
glm-5p2 in=1.4 out=4.4 read=0.26
gpt-oss-120b in=0.15 out=0.6 read=0.015
gpt-oss-20b in=0.07 out=0.3 read=0.035
kimi-k2-instruct in=0.6 out=2.5
kimi-k2-instruct-0905 in=0.6 out=2.5
kimi-k2-thinking in=0.6 out=2.5
kimi-k2p5 in=0.6 out=3 read=0.1
kimi-k2p6 in=0.95 out=4 read=0.16
kimi-k2p6-fast in=2 out=8 read=0.3
kimi-k2p7-code in=0.95 out=4 read=0.19
kimi-k2p7-code-fast in=1.9 out=8 read=0.38
kimi-k3 in=30 out=150 read=3
llama-v3p1-405b-instruct in=3 out=3
llama4-maverick-instruct-basic in=0.22 out=0.88
llama4-scout-instruct-basic in=0.15 out=0.6
minimax-m2p1 in=0.3 out=1.2
minimax-m2p5 in=0.3 out=1.2 read=0.03
minimax-m2p7 in=0.3 out=1.2 read=0.06
minimax-m3 in=0.3 out=1.2 read=0.06
mixtral-8x22b-instruct in=1.2 out=1.2
mixtral-8x7b in=0.5 out=0.5
nemotron-3-ultra-nvfp4 in=0.6 out=2.4 read=0.12
nomic-ai/nomic-embed-text-v1 in=0.008 out=0.008
nomic-ai/nomic-embed-text-v1.5 in=0.008 out=0.008
qwen3p6-plus in=0.5 out=3 read=0.1
qwen3p7-plus in=0.4 out=1.6 read=0.08
thenlper/gte-base in=0.008 out=0.008
thenlper/gte-large in=0.016 out=0.016
# google
deep-research-pro-preview-12-2025-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.014 unit.search=0.014
deep-research-pro-preview-12-2025-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.search=0.014
embedding-001 in=0.025 batch.in=0.02
gemini-1.5-flash-001-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-001-lte-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-002-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-002-lte-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-8b-001-gt-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-8b-001-lte-128k in=0.0375 out=0.15 batch.in=0.01875 batch.out=0.075 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-8b-gt-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-8b-latest-gt-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-8b-latest-lte-128k in=0.0375 out=0.15 batch.in=0.01875 batch.out=0.075 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-8b-lte-128k in=0.0375 out=0.15 batch.in=0.01875 batch.out=0.075
gemini-1.5-flash-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-latest-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-latest-lte-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-flash-lte-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-001-gt-128k in=2.5 out=10 batch.in=1.25 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-001-lte-128k in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-002-gt-128k in=2.5 out=10 batch.in=1.25 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-002-lte-128k in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-gt-128k in=2.5 out=10 batch.in=1.25 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-latest-gt-128k in=2.5 out=10 batch.in=1.25 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-latest-lte-128k in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035
gemini-1.5-pro-lte-128k in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035
gemini-2.0-flash-001-gt-128k in=0.1 out=0.4 read=0.025 audio-in=0.7 audio-read=0.175 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.0-flash-001-lte-128k in=0.1 out=0.4 read=0.025 audio-in=0.7 audio-read=0.175 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.0-flash-exp-001-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3
gemini-2.0-flash-exp-001-lte-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3
gemini-2.0-flash-gt-128k in=0.1 out=0.4 read=0.025 audio-in=0.7 audio-read=0.175 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.0-flash-lite-001-gt-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15
gemini-2.0-flash-lite-001-lte-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15
gemini-2.0-flash-lite-gt-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15
gemini-2.0-flash-lite-lte-128k in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15
gemini-2.0-flash-lte-128k in=0.1 out=0.4 read=0.025 audio-in=0.7 audio-read=0.175 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-computer-use-preview-10-2025-gt-200k in=2.5 out=15
gemini-2.5-computer-use-preview-10-2025-lte-200k in=1.25 out=10
gemini-2.5-flash-gt-128k in=0.3 out=2.5 read=0.03 audio-in=1 audio-read=0.1 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-image-gt-128k in=0.3 out=2.5 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.image_token=0.00003 unit.search=0.035
gemini-2.5-flash-image-lte-128k in=0.3 out=2.5 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.image_token=0.00003 unit.search=0.035
gemini-2.5-flash-image-preview-gt-128k in=0.3 out=2.5 batch.in=0.15 batch.out=1.25 unit.web_search=0.014 unit.image_token=0.00003
gemini-2.5-flash-image-preview-lte-128k in=0.3 out=2.5 batch.in=0.15 batch.out=1.25 unit.web_search=0.014 unit.image_token=0.00003
gemini-2.5-flash-lite-gt-128k in=0.1 out=0.4 read=0.01 write=0.1 audio-in=0.3 audio-read=0.03 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-lite-lte-128k in=0.1 out=0.4 read=0.01 write=0.1 audio-in=0.3 audio-read=0.03 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-lite-preview-06-17-gt-128k in=0.1 out=0.4 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-lite-preview-06-17-lte-128k in=0.1 out=0.4 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-lite-preview-09-2025-gt-128k in=0.1 out=0.4 read=0.01 write=0.1 audio-in=0.3 audio-read=0.03 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-lite-preview-09-2025-lte-128k in=0.1 out=0.4 read=0.01 write=0.1 audio-in=0.3 audio-read=0.03 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-lte-128k in=0.3 out=2.5 read=0.03 audio-in=1 audio-read=0.1 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-04-17-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-04-17-lte-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-05-20-gt-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-05-20-lte-128k in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-09-2025-gt-128k in=0.3 out=2.5 read=0.03 write=0.3 audio-in=1 audio-read=0.1 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-09-2025-lte-128k in=0.3 out=2.5 read=0.03 write=0.3 audio-in=1 audio-read=0.1 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.search=0.035
gemini-2.5-flash-preview-tts-gt-128k in=0.5 out=10 batch.in=0.25 batch.out=5
gemini-2.5-flash-preview-tts-lte-128k in=0.5 out=10 batch.in=0.25 batch.out=5
gemini-2.5-pro-gt-200k in=2.5 out=15 read=0.25 batch.in=1.25 batch.out=7.5 unit.web_search=0.035 unit.search=0.035
gemini-2.5-pro-lte-200k in=1.25 out=10 read=0.125 batch.in=0.625 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-2.5-pro-preview-03-25-gt-200k in=2.5 out=15 batch.in=1.25 batch.out=7.5 unit.web_search=0.035 unit.search=0.035
gemini-2.5-pro-preview-03-25-lte-200k in=1.25 out=10 batch.in=0.625 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-2.5-pro-preview-05-06-gt-200k in=2.5 out=15 batch.in=1.25 batch.out=7.5 unit.web_search=0.035 unit.search=0.035
gemini-2.5-pro-preview-05-06-lte-200k in=1.25 out=10 batch.in=0.625 batch.out=5 unit.web_search=0.035 unit.search=0.035
gemini-2.5-pro-preview-tts-gt-128k in=1 out=20 batch.in=0.5 batch.out=10
gemini-2.5-pro-preview-tts-lte-128k in=1 out=20 batch.in=0.5 batch.out=10
gemini-3-flash-preview-gt-128k in=0.5 out=3 read=0.05 write=0.5 audio-in=1 audio-read=0.1 batch.in=0.25 batch.out=1.5 unit.web_search=0.014 unit.search=0.014
gemini-3-flash-preview-lte-128k in=0.5 out=3 read=0.05 write=0.5 audio-in=1 audio-read=0.1 batch.in=0.25 batch.out=1.5 unit.web_search=0.014 unit.search=0.014
gemini-3-pro-image-gt-128k in=2 out=12 batch.in=1 batch.out=6 unit.web_search=0.014 unit.image_token=0.00012 unit.input_image=0.000011 unit.search=0.014
gemini-3-pro-image-lte-128k in=2 out=12 batch.in=1 batch.out=6 unit.web_search=0.014 unit.image_token=0.00012 unit.input_image=0.000011 unit.search=0.014
gemini-3-pro-image-preview-gt-128k in=2 out=12 batch.in=1 batch.out=6 unit.web_search=0.014 unit.image_token=0.00012 unit.input_image=0.000011 unit.search=0.014
gemini-3-pro-image-preview-lte-128k in=2 out=12 batch.in=1 batch.out=6 unit.web_search=0.014 unit.image_token=0.00012 unit.input_image=0.000011 unit.search=0.014
gemini-3-pro-preview-02-05-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.035 unit.search=0.035
gemini-3-pro-preview-02-05-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.035 unit.search=0.035
gemini-3-pro-preview-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.014 unit.search=0.014
gemini-3-pro-preview-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-image-gt-128k in=0.5 out=3 batch.in=0.25 batch.out=1.5 unit.image_token=0.00006 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-image-lte-128k in=0.5 out=3 batch.in=0.25 batch.out=1.5 unit.image_token=0.00006 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-image-preview-gt-128k in=0.5 out=3 batch.in=0.25 batch.out=1.5 unit.image_token=0.00006 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-image-preview-lte-128k in=0.5 out=3 batch.in=0.25 batch.out=1.5 unit.image_token=0.00006 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-lite-gt-128k in=0.25 out=1.5 read=0.025 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-lite-image-gt-128k in=0.25 out=1.5 batch.in=0.125 batch.out=0.75 unit.image_token=0.00003
gemini-3.1-flash-lite-image-lte-128k in=0.25 out=1.5 batch.in=0.125 batch.out=0.75 unit.image_token=0.00003
gemini-3.1-flash-lite-lte-128k in=0.25 out=1.5 read=0.025 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-lite-preview-gt-128k in=0.25 out=1.5 read=0.025 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014
gemini-3.1-flash-lite-preview-lte-128k in=0.25 out=1.5 read=0.025 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014
gemini-3.1-pro-preview-customtools-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.035 unit.search=0.035
gemini-3.1-pro-preview-customtools-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.035 unit.search=0.035
gemini-3.1-pro-preview-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.035 unit.search=0.035
gemini-3.1-pro-preview-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.035 unit.search=0.035
gemini-3.5-flash-gt-128k in=1.5 out=9 read=0.15 batch.in=0.75 batch.out=4.5 unit.web_search=0.014 unit.search=0.014
gemini-3.5-flash-lite-gt-128k in=0.3 out=2.5 read=0.03 batch.in=0.15 batch.out=1.25 unit.web_search=0.014 unit.search=0.014
gemini-3.5-flash-lite-lte-128k in=0.3 out=2.5 read=0.03 batch.in=0.15 batch.out=1.25 unit.web_search=0.014 unit.search=0.014
gemini-3.5-flash-lte-128k in=1.5 out=9 read=0.15 batch.in=0.75 batch.out=4.5 unit.web_search=0.014 unit.search=0.014
gemini-3.6-flash-gt-128k in=1.5 out=7.5 read=0.15 batch.in=0.75 batch.out=3.75 unit.web_search=0.014 unit.search=0.014
gemini-3.6-flash-lte-128k in=1.5 out=7.5 read=0.15 batch.in=0.75 batch.out=3.75 unit.web_search=0.014 unit.search=0.014
gemini-3.7-flash-gt-128k in=1.5 out=7.5 read=0.15 batch.in=0.75 batch.out=3.75 unit.web_search=0.014 unit.search=0.014
gemini-3.7-flash-lte-128k in=1.5 out=7.5 read=0.15 batch.in=0.75 batch.out=3.75 unit.web_search=0.014 unit.search=0.014
gemini-embedding-001-gt-128k in=0.15 batch.in=0.075
gemini-embedding-001-lte-128k in=0.15 batch.in=0.075
gemini-embedding-2-preview-gt-128k in=0.2
gemini-embedding-2-preview-lte-128k in=0.2
gemini-flash-latest-gt-128k in=0.5 out=3 read=0.05 audio-in=1 audio-read=0.1 batch.in=0.25 batch.out=1.5 unit.web_search=0.014 unit.search=0.014
gemini-flash-latest-lte-128k in=0.5 out=3 read=0.05 audio-in=1 audio-read=0.1 batch.in=0.25 batch.out=1.5 unit.web_search=0.014 unit.search=0.014
gemini-flash-lite-latest-gt-128k in=0.25 out=1.5 read=0.025 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014
gemini-flash-lite-latest-lte-128k in=0.25 out=1.5 read=0.025 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014
gemini-omni-flash-preview-gt-128k in=1.5 out=9 unit.output_video_token=0.0000175
gemini-omni-flash-preview-lte-128k in=1.5 out=9 unit.output_video_token=0.0000175
gemini-pro in=0.25 out=0.5 batch.in=0.125 batch.out=0.25
gemini-pro-latest-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.014 unit.search=0.014
gemini-pro-latest-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.search=0.014
gemini-pro-vision in=0.25 out=0.5 batch.in=0.125 batch.out=0.25
gemini-robotics-er-1.5-preview-gt-128k in=0.3 out=2.5
gemini-robotics-er-1.5-preview-lte-128k in=0.3 out=2.5
imagen-4.0-fast-generate-001-gt-128k image.default.default=0.02
imagen-4.0-fast-generate-001-lte-128k image.default.default=0.02
imagen-4.0-generate-001-gt-128k image.default.default=0.04
imagen-4.0-generate-001-lte-128k image.default.default=0.04
imagen-4.0-ultra-generate-001-gt-128k image.default.default=0.06
imagen-4.0-ultra-generate-001-lte-128k image.default.default=0.06
veo-2.0-generate-001-gt-128k unit.video_seconds=0.35 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-2.0-generate-001-lte-128k unit.video_seconds=0.35 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-fast-generate-001-gt-128k unit.video_seconds=0.15 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-fast-generate-001-lte-128k unit.video_seconds=0.15 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-generate-001-gt-128k unit.video_seconds=0.4 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-generate-001-lte-128k unit.video_seconds=0.4 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-fast-generate-preview-gt-128k unit.video_duration_seconds_1280_720=0.1 unit.video_duration_seconds_1920_1080=0.12 unit.video_duration_seconds_3840_2160=0.3 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-fast-generate-preview-lte-128k unit.video_duration_seconds_1280_720=0.1 unit.video_duration_seconds_1920_1080=0.12 unit.video_duration_seconds_3840_2160=0.3 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-generate-preview-gt-128k unit.video_duration_seconds_1280_720=0.4 unit.video_duration_seconds_1920_1080=0.4 unit.video_duration_seconds_3840_2160=0.6 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-generate-preview-lte-128k unit.video_duration_seconds_1280_720=0.4 unit.video_duration_seconds_1920_1080=0.4 unit.video_duration_seconds_3840_2160=0.6 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-lite-generate-preview-gt-128k unit.video_duration_seconds_1280_720=0.05 unit.video_duration_seconds_1920_1080=0.08 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-lite-generate-preview-lte-128k unit.video_duration_seconds_1280_720=0.05 unit.video_duration_seconds_1920_1080=0.08 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
# groq
deepseek-r1-distill-llama-70b in=0.75 out=0.99
gemma-7b-it in=0.1 out=0.1
gemma2-9b-it in=0.2 out=0.2
llama-3.1-70b-versatile in=0.59 out=0.79
llama-3.1-8b-instant in=0.05 out=0.08
llama-3.3-70b-versatile in=0.59 out=0.79
llama-guard-3-8b in=0.2 out=0.2
llama2-70b-4096 in=0.7 out=0.8
llama3-70b-8192 in=0.59 out=0.79
llama3-8b-8192 in=0.05 out=0.08
llama3-groq-70b-8192-tool-use-preview in=0.89 out=0.89
llama3-groq-8b-8192-tool-use-preview in=0.19 out=0.19
meta-llama/llama-4-maverick-17b-128e-instruct in=0.2 out=0.6
meta-llama/llama-4-scout-17b-16e-instruct in=0.11 out=0.34
meta-llama/llama-guard-4-12b in=0.2 out=0.2
mixtral-8x7b-32768 in=0.24 out=0.24
moonshotai/kimi-k2-instruct-0905 in=1 out=3 read=0.5
openai/gpt-oss-120b in=0.15 out=0.6
openai/gpt-oss-20b in=0.075 out=0.3
openai/gpt-oss-safeguard-20b in=0.075 out=0.3
qwen/qwen3-32b in=0.29 out=0.59
# jina
jina-colbert-v1-en in=0.02
jina-colbert-v2 in=0.02
jina-embeddings-v2-base-code in=0.02
jina-embeddings-v2-base-de in=0.02
jina-embeddings-v2-base-en in=0.02
jina-embeddings-v2-base-es in=0.02
jina-embeddings-v2-base-zh in=0.02
jina-reranker-v1-base-en in=0.02
jina-reranker-v2-base-multilingual in=0.02
jina-reranker-v3 in=0.05
# lightning-ai
anthropic/claude-fable-5 in=10 out=50 read=1
anthropic/claude-haiku-4-5-20251001 in=1 out=5 read=0.1
anthropic/claude-opus-4-1-20250805 in=15 out=75 read=1.5
anthropic/claude-opus-4-5-20251101 in=5 out=25 read=0.5
anthropic/claude-opus-4-6 in=5 out=25 read=0.5
anthropic/claude-opus-4-7 in=5 out=25 read=0.5
anthropic/claude-opus-4-8 in=5 out=25 read=0.5
anthropic/claude-sonnet-4-5-20250929 in=3 out=15 read=0.3
anthropic/claude-sonnet-4-6 in=3 out=15 read=0.3
google/gemini-2.5-flash in=0.3 out=2.5 read=0.03
google/gemini-2.5-flash-lite-preview-06-17 in=0.1 out=0.4 read=0.01
google/gemini-2.5-pro in=1.25 out=10 read=0.125
google/gemini-3-flash-preview in=0.75 out=4.5 read=0.075
google/gemini-3.1-flash-lite-preview in=0.1 out=0.4 read=0.01
google/gemini-3.1-pro-preview in=1.25 out=10 read=0.125
google/gemini-3.5-flash in=1.5 out=9 read=0.15
lightning-ai/deepseek-v4-pro in=0.435 out=0.87 read=0.0036
lightning-ai/gemma-4-31B-it in=0.39 out=0.97
lightning-ai/gpt-oss-120b in=0.15 out=0.6
lightning-ai/gpt-oss-20b in=0.05 out=0.2
lightning-ai/nemotron-3-nano-omni-30b-a3b in=0.1 out=0.4
lightning-ai/nemotron-3-ultra-550b-a55b in=0.6 out=3.6 read=0.2
openai/gpt-3.5-turbo in=0.5 out=1.5
openai/gpt-4 in=30 out=60
openai/gpt-4-turbo in=10 out=30
openai/gpt-4-turbo-preview in=10 out=30
openai/gpt-4.1 in=2 out=8 read=0.5
openai/gpt-4o in=2.5 out=10 read=1.25
openai/gpt-5 in=1.25 out=10 read=0.125
openai/gpt-5-mini in=0.25 out=2 read=0.025
openai/gpt-5-nano in=0.05 out=0.4 read=0.005
openai/gpt-5.2-2025-12-11 in=1.75 out=14 read=0.175
openai/gpt-5.4-2026-03-05 in=2.5 out=15 read=0.25
openai/gpt-5.4-mini-2026-03-17 in=0.75 out=4.5 read=0.075
openai/gpt-5.4-nano-2026-03-17 in=0.2 out=1.25 read=0.02
openai/gpt-5.5-2026-04-23 in=5 out=30 read=0.5
openai/gpt-5.6-luna in=1 out=6 read=0.1
openai/gpt-5.6-sol in=5 out=30 read=0.5
openai/gpt-5.6-terra in=2.5 out=15 read=0.25
openai/o3 in=2 out=8 read=0.2
openai/o3-mini in=1.1 out=4.4 read=0.055
# minimax
MiniMax-M2.7 in=0.3 out=1.2 read=0.06 write=0.375
MiniMax-M2.7-highspeed in=0.6 out=2.4 read=0.06 write=0.375
# mistral-ai
codestral-2501 in=0.3 out=0.9
codestral-2508 in=0.3 out=0.9
codestral-embed in=0.15
codestral-embed-2505 in=0.15
codestral-latest in=0.3 out=0.9
devstral-2512 in=0.4 out=2
devstral-latest in=0.4 out=2
devstral-medium-2507 in=0.4 out=2
devstral-medium-latest in=0.4 out=2
devstral-small-2507 in=0.1 out=0.3
devstral-small-latest in=0.1 out=0.3
labs-devstral-small-2512 in=0.1 out=0.3
labs-mistral-small-creative in=0.1 out=0.3
magistral-medium-2509 in=2 out=5
magistral-medium-latest in=2 out=5
magistral-small-2509 in=0.5 out=1.5
magistral-small-latest in=0.5 out=1.5
ministral-14b-2512 in=0.2 out=0.2
ministral-14b-latest in=0.2 out=0.2
ministral-3b-2512 in=0.1 out=0.1
ministral-3b-latest in=0.1 out=0.1
ministral-8b-2512 in=0.15 out=0.15
ministral-8b-latest in=0.15 out=0.15
mistral-embed in=0.1
mistral-embed-2312 in=0.1
mistral-large-2407 in=0.5 out=1.5
mistral-large-2411 in=0.5 out=1.5
mistral-large-2512 in=0.5 out=1.5
mistral-large-latest in=0.5 out=1.5
mistral-large-pixtral-2411 in=2 out=6
mistral-medium in=0.4 out=2
mistral-medium-2505 in=0.4 out=2
mistral-medium-2508 in=0.4 out=2
mistral-medium-latest in=0.4 out=2
mistral-ocr-4 in=4000
mistral-ocr-4-0 in=4000
mistral-ocr-latest in=4000
mistral-small in=0.7 out=0.7
mistral-small-2409 in=0.1 out=0.3
mistral-small-2501 in=0.1 out=0.3
mistral-small-2503 in=0.1 out=0.3
mistral-small-2506 in=0.1 out=0.3
mistral-small-latest in=0.1 out=0.3
mistral-tiny in=0.25 out=0.25
mistral-tiny-2407 in=0.15 out=0.15
mistral-tiny-latest in=0.15 out=0.15
mistral-vibe-cli-latest in=0.4 out=2
mistral-vibe-cli-with-tools in=0.4 out=2
open-mistral-7b in=0.25 out=0.25
open-mistral-nemo in=0.15 out=0.15
open-mistral-nemo-2407 in=0.15 out=0.15
open-mixtral-8x22b in=2 out=6
open-mixtral-8x7b in=0.7 out=0.7
pixtral-12b-2409 in=0.15 out=0.15
pixtral-large-2411 in=2 out=6
pixtral-large-latest in=2 out=6
# monsterapi
HuggingFaceH4/zephyr-7b-beta in=0.04559 out=0.4559
TinyLlama/TinyLlama-1.1B-Chat-v1.0 in=0.02818 out=0.2818
microsoft/phi-2 in=0.03483 out=0.3483
mistralai/Mistral-7B-Instruct-v0.2 in=0.04559 out=0.4559
# moonshot
kimi-k2-0711-preview in=0.6 out=2.5 read=0.15
kimi-k2-0905-preview in=0.6 out=2.5 read=0.15
kimi-k2-thinking in=0.6 out=2.5 read=0.15
kimi-k2-thinking-turbo in=1.15 out=8 read=0.15
kimi-k2-turbo-preview in=1.15 out=8 read=0.15
kimi-k2.5 in=0.6 out=3 read=0.1
kimi-k2.6 in=0.95 out=4 read=0.16
kimi-k2.7-code in=0.95 out=4 read=0.19
kimi-k2.7-code-highspeed in=1.9 out=8 read=0.38
kimi-k3 in=3 out=15 read=0.3
moonshot-v1-128k in=2 out=5
moonshot-v1-128k-vision-preview in=2 out=5
moonshot-v1-32k in=1 out=3
moonshot-v1-32k-vision-preview in=1 out=3
moonshot-v1-8k in=0.2 out=2
moonshot-v1-8k-vision-preview in=0.2 out=2
# nebius
BAAI/bge-multilingual-gemma2 in=0.01
NousResearch/Hermes-4-405B in=1 out=3
NousResearch/Hermes-4-70B in=0.13 out=0.4
Qwen/Qwen2.5-Coder-7B-fast in=0.03 out=0.09
Qwen/Qwen3-235B-A22B-Instruct-2507 in=0.2 out=0.6
Qwen/Qwen3-235B-A22B-Thinking-2507 in=0.2 out=0.8
Qwen/Qwen3-30B-A3B-Instruct-2507 in=0.1 out=0.3
Qwen/Qwen3-30B-A3B-Thinking-2507 in=0.1 out=0.3
Qwen/Qwen3-32B in=0.1 out=0.3
Qwen/Qwen3-32B-fast in=0.2 out=0.6
Qwen/Qwen3-Coder-30B-A3B-Instruct in=0.1 out=0.3
Qwen/Qwen3-Coder-480B-A35B-Instruct in=0.4 out=1.8
deepseek-ai/DeepSeek-R1-0528 in=0.8 out=2.4
deepseek-ai/DeepSeek-R1-0528-fast in=2 out=6
deepseek-ai/DeepSeek-V3-0324 in=0.5 out=1.5
deepseek-ai/DeepSeek-V3-0324-fast in=0.75 out=2.25
deepseek-ai/DeepSeek-V3.2 in=0.3 out=0.45
google/gemma-2-2b-it in=0.02 out=0.06
google/gemma-2-9b-it-fast in=0.03 out=0.09
google/gemma-3-27b-it in=0.1 out=0.3
google/gemma-3-27b-it-fast in=0.2 out=0.6
intfloat/e5-mistral-7b-instruct in=0.01
meta-llama/Llama-3.3-70B-Instruct in=0.13 out=0.4
meta-llama/Llama-3.3-70B-Instruct-fast in=0.25 out=0.75
meta-llama/Llama-Guard-3-8B in=0.2 out=0.6
meta-llama/Meta-Llama-3.1-8B-Instruct in=0.02 out=0.06
meta-llama/Meta-Llama-3.1-8B-Instruct-fast in=0.03 out=0.09
moonshotai/Kimi-K2-Instruct in=0.5 out=2.4
nvidia/Llama-3_1-Nemotron-Ultra-253B-v1 in=0.6 out=1.8
openai/gpt-oss-120b in=0.15 out=0.6
openai/gpt-oss-20b in=0.05 out=0.2
zai-org/GLM-4.5 in=0.6 out=2.2
zai-org/GLM-4.5-Air in=0.2 out=1.2
# nomic
nomic-embed-text-v1 in=0.1
# novita-ai
Nous-Hermes-2-Mixtral-8x7B-DPO in=0.27 out=0.27
baidu/ernie-4.5-21B-a3b-thinking in=0.07 out=0.28
baidu/ernie-4.5-300b-a47b-paddle in=0.28 out=1.1
baidu/ernie-4.5-vl-28b-a3b-thinking in=0.39 out=0.39
deepseek/deepseek-ocr-2 in=0.03 out=0.03
deepseek/deepseek-prover-v2-671b in=0.7 out=2.5
deepseek/deepseek-r1-turbo in=0.7 out=2.5
deepseek/deepseek-v3-0324 in=0.27 out=1.12 read=0.135
deepseek/deepseek-v3-turbo in=0.4 out=1.3
deepseek/deepseek-v3.1 in=0.27 out=1 read=0.135
deepseek/deepseek-v3.1-terminus in=0.27 out=1 read=0.135
deepseek/deepseek-v3.2 in=0.269 out=0.4 read=0.1345
deepseek/deepseek-v3.2-exp in=0.27 out=0.41
deepseek/deepseek-v4-flash in=0.14 out=0.28 read=0.028
deepseek/deepseek-v4-pro in=1.6 out=3.2 read=0.135
google/gemma-3-27b-it in=0.119 out=0.2
gryphe/mythomax-l2-13b in=0.19 out=0.19
kwaipilot/kat-coder-pro in=0.3 out=1.2 read=0.06
lzlv_70b in=0.7 out=0.8
meta-llama/llama-3-70b-instruct in=0.51 out=0.74
meta-llama/llama-3-8b-instruct in=0.04 out=0.04
meta-llama/llama-3.3-70b-instruct in=0.135 out=0.4
meta-llama/llama-4-maverick-17b-128e-instruct-fp8 in=0.27 out=0.85
meta-llama/llama-4-scout-17b-16e-instruct in=0.18 out=0.59
microsoft/wizardlm-2-8x22b in=0.62 out=0.62
minimax/minimax-m2.1 in=0.3 out=1.2 read=0.03
minimax/minimax-m3 in=0.3 out=1.2 read=0.06
minimaxai/minimax-m1-80k in=0.55 out=2.2
moonshotai/kimi-k2-0905 in=0.6 out=2.5
moonshotai/kimi-k2-instruct in=0.57 out=2.3
moonshotai/kimi-k2-thinking in=0.6 out=2.5 read=0.15
moonshotai/kimi-k2.5 in=0.6 out=3 read=0.1
moonshotai/kimi-k2.7-code in=0.95 out=4 read=0.19
moonshotai/kimi-k3 in=3 out=15 read=0.3
nousresearch/hermes-2-pro-llama-3-8b in=0.14 out=0.14
nousresearch/nous-hermes-llama2-13b in=0.26 out=0.26
openai/gpt-oss-120b in=0.05 out=0.25
qwen/qwen-2.5-72b-instruct in=0.38 out=0.4
qwen/qwen2.5-7b-instruct in=0.07 out=0.07
qwen/qwen2.5-vl-72b-instruct in=0.8 out=0.8
qwen/qwen3-235b-a22b-fp8 in=0.2 out=0.8
qwen/qwen3-235b-a22b-instruct-2507 in=0.09 out=0.58
qwen/qwen3-235b-a22b-thinking-2507 in=0.3 out=3
qwen/qwen3-30b-a3b-fp8 in=0.09 out=0.45
qwen/qwen3-32b-fp8 in=0.1 out=0.45
qwen/qwen3-4b-fp8 in=0.03 out=0.03
qwen/qwen3-coder-30b-a3b-instruct in=0.07 out=0.27
qwen/qwen3-coder-480b-a35b-instruct in=0.3 out=1.3
qwen/qwen3-coder-next in=0.2 out=1.5
qwen/qwen3-max in=2.11 out=8.45
qwen/qwen3-vl-235b-a22b-instruct in=0.3 out=1.5
qwen/qwen3-vl-235b-a22b-thinking in=0.98 out=3.95
qwen/qwen3-vl-30b-a3b-instruct in=0.2 out=0.7
qwen/qwen3-vl-8b-instruct in=0.08 out=0.5
sao10k/l3-70b-euryale-v2.1 in=1.48 out=1.48
sao10k/l3-8b-lunaris in=0.05 out=0.05
teknium/openhermes-2.5-mistral-7b in=0.17 out=0.17
tencent/hy3 in=0.14 out=0.58 read=0.035
xiaomimimo/mimo-v2-flash in=0.1 out=0.3 read=0.02
zai-org/autoglm-phone-9b-multilingual in=0.035 out=0.138
zai-org/glm-4.7 in=0.6 out=2.2 read=0.11
zai-org/glm-5.2 in=1.4 out=4.4 read=0.26
# openai
ada-v2 in=0.1
babbage-002 in=0.4 out=0.4
chat-latest in=5 out=30 read=0.5 batch.in=2.5 batch.out=15 batch.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
chatgpt-4o-latest in=5 out=15 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
chatgpt-image-latest in=5 out=10 read=1.25 image-in=8 image-out=32
codex-auto-review in=2.5 out=15
codex-mini-latest in=1.5 out=6 read=0.375
computer-use-preview in=3 out=12 batch.in=1.5 batch.out=6
computer-use-preview-2025-03-11 in=3 out=12
dall-e-2 image.default.default=0.02 image.default.1024x1024=0.02 image.default.512x512=0.018 image.default.256x256=0.016 image.standard.default=0.02 image.standard.1024x1024=0.02 image.standard.512x512=0.018 image.standard.256x256=0.016
dall-e-3 image.default.default=0.04 image.default.1024x1024=0.04 image.default.1024x1792=0.08 image.default.1792x1024=0.08 image.standard.default=0.04 image.standard.1024x1024=0.04 image.standard.1024x1792=0.08 image.standard.1792x1024=0.08 image.hd.default=0.08 image.hd.1024x1024=0.08 image.hd.1024x1792=0.12 image.hd.1792x1024=0.12
davinci-002 in=2 out=2
ft:gpt-3.5-turbo in=3 out=6
ft:gpt-3.5-turbo-0125 in=3 out=6
ft:gpt-3.5-turbo-0613 in=3 out=6
ft:gpt-3.5-turbo-1106 in=3 out=6
ft:gpt-4.1 in=3 out=12 read=0.75 unit.web_search=0.01 unit.file_search=0.0025
ft:gpt-4.1-2025-04-14 in=3 out=12 read=0.75 unit.web_search=0.01 unit.file_search=0.0025
ft:gpt-4.1-mini in=0.8 out=3.2 read=0.2 unit.web_search=0.01 unit.file_search=0.0025
ft:gpt-4.1-mini-2025-04-14 in=0.8 out=3.2 read=0.2 unit.web_search=0.01 unit.file_search=0.0025
ft:gpt-4.1-nano-2025-04-14 in=0.2 out=0.8 read=0.05
ft:gpt-4o in=3.75 out=15 read=1.875 unit.file_search=0.0025
ft:gpt-4o-2024-08-06 in=3.75 out=15 read=1.875 unit.web_search=0.01 unit.file_search=0.0025
ft:gpt-4o-mini in=0.3 out=1.2 read=0.15 unit.web_search=0.01 unit.file_search=0.0025
ft:gpt-4o-mini-2024-07-18 in=0.3 out=1.2 read=0.15 unit.web_search=0.01 unit.file_search=0.0025
ft:o4-mini-2025-04-16 in=4 out=16 read=1 unit.web_search=0.01 unit.file_search=0.0025
gpt-3.5-0301 in=1.5 out=2
gpt-3.5-turbo in=0.5 out=1.5
gpt-3.5-turbo-0125 in=0.5 out=1.5 batch.in=0.25 batch.out=0.75
gpt-3.5-turbo-0613 in=1.5 out=2 batch.in=0.75 batch.out=1
gpt-3.5-turbo-1106 in=1 out=2 batch.in=0.5 batch.out=1
gpt-3.5-turbo-16k in=3 out=4
gpt-3.5-turbo-16k-0613 in=3 out=4 batch.in=1.5 batch.out=2
gpt-3.5-turbo-instruct in=1.5 out=2
gpt-3.5-turbo-instruct-0914 in=1.5 out=2
gpt-4 in=30 out=60 unit.web_search=0.01 unit.file_search=0.0025
gpt-4-0125-preview in=10 out=30 batch.in=5 batch.out=15
gpt-4-0314 in=30 out=60 batch.in=15 batch.out=30
gpt-4-0613 in=30 out=60 batch.in=15 batch.out=30
gpt-4-1106-preview in=10 out=30 batch.in=5 batch.out=15
gpt-4-1106-vision-preview in=10 out=30 batch.in=5 batch.out=15
gpt-4-32k in=60 out=120 batch.in=30 batch.out=60
gpt-4-32k-0314 in=60 out=120
gpt-4-32k-0613 in=60 out=120
gpt-4-turbo in=10 out=30
gpt-4-turbo-2024-04-09 in=10 out=30 batch.in=5 batch.out=15
gpt-4-turbo-preview in=10 out=30
gpt-4-vision-preview in=10 out=30
gpt-4.1 in=2 out=8 read=0.5 batch.in=1 batch.out=4 priority.in=3.5 priority.out=14 priority.read=0.875 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4.1-2025-04-14 in=2 out=8 read=0.5 priority.in=3.5 priority.out=14 priority.read=0.875 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4.1-mini in=0.4 out=1.6 read=0.1 batch.in=0.2 batch.out=0.8 priority.in=0.7 priority.out=2.8 priority.read=0.175 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4.1-mini-2025-04-14 in=0.4 out=1.6 read=0.1 priority.in=0.7 priority.out=2.8 priority.read=0.175 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4.1-nano in=0.1 out=0.4 read=0.025 batch.in=0.05 batch.out=0.2 priority.in=0.2 priority.out=0.8 priority.read=0.05 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4.1-nano-2025-04-14 in=0.1 out=0.4 read=0.025 priority.in=0.2 priority.out=0.8 priority.read=0.05
gpt-4.5-preview-2025-02-27 in=75 out=150 read=37.5 unit.file_search=0.0025
gpt-4o in=2.5 out=10 read=1.25 batch.in=1.25 batch.out=5 priority.in=4.25 priority.out=17 priority.read=2.125 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-2024-05-13 in=5 out=15 batch.in=2.5 batch.out=7.5 priority.in=8.75 priority.out=26.25 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-2024-08-06 in=2.5 out=10 read=1.25 priority.in=4.25 priority.out=17 priority.read=2.125 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-2024-11-20 in=2.5 out=10 read=1.25 priority.in=4.25 priority.out=17 priority.read=2.125 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-audio-preview in=2.5 out=10 audio-in=40 audio-out=80 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-audio-preview-2024-10-01 in=2.5 out=10 audio-in=100 audio-out=200 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-audio-preview-2024-12-17 in=2.5 out=10 audio-in=40 audio-out=80
gpt-4o-audio-preview-2025-06-03 in=2.5 out=10 audio-in=40 audio-out=80
gpt-4o-latest in=5 out=15 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-mini in=0.15 out=0.6 read=0.075 batch.in=0.075 batch.out=0.3 priority.in=0.25 priority.out=1 priority.read=0.125 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-mini-2024-07-18 in=0.15 out=0.6 read=0.075 priority.in=0.25 priority.out=1 priority.read=0.125 unit.web_search=0.01 unit.web_search_preview=0.025 unit.file_search=0.0025
gpt-4o-mini-audio-preview in=0.15 out=0.6 audio-in=10 audio-out=20
gpt-4o-mini-audio-preview-2024-12-17 in=0.15 out=0.6 audio-in=10 audio-out=20
gpt-4o-mini-realtime-preview in=0.6 out=2.4 read=0.3 audio-in=10 audio-out=20 audio-read=0.3
gpt-4o-mini-realtime-preview-2024-12-17 in=0.6 out=2.4 read=0.3 audio-in=10 audio-out=20 audio-read=0.3
gpt-4o-mini-search-preview in=0.15 out=0.6 unit.web_search=0.025
gpt-4o-mini-search-preview-2025-03-11 in=0.15 out=0.6 unit.web_search=0.025
gpt-4o-mini-transcribe in=1.25 out=5 audio-in=3 unit.request_audio_token=0.003
gpt-4o-mini-transcribe-2025-03-20 in=1.25 out=5 audio-in=3
gpt-4o-mini-transcribe-2025-12-15 in=1.25 out=5 audio-in=3
gpt-4o-mini-tts in=0.6 audio-out=12 unit.response_audio_token=0.000012
gpt-4o-mini-tts-2025-03-20 in=0.6 audio-out=12
gpt-4o-mini-tts-2025-12-15 in=0.6 audio-out=12
gpt-4o-realtime-preview in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-realtime-preview-2024-10-01 in=5 out=20 read=2.5 audio-in=100 audio-out=200 audio-read=20
gpt-4o-realtime-preview-2024-12-17 in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-realtime-preview-2025-06-03 in=5 out=20 read=2.5 audio-in=40 audio-out=80 audio-read=2.5
gpt-4o-search-preview in=2.5 out=10 unit.web_search=0.025
gpt-4o-search-preview-2025-03-11 in=2.5 out=10 unit.web_search=0.025
gpt-4o-transcribe in=2.5 out=10 audio-in=6 unit.request_audio_token=0.006
gpt-4o-transcribe-diarize in=2.5 out=10 audio-in=6
gpt-5 in=1.25 out=10 read=0.125 batch.in=0.625 batch.out=5 batch.read=0.0625 flex.in=0.625 flex.out=5 flex.read=0.0625 priority.in=2.5 priority.out=20 priority.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-2025-08-07 in=1.25 out=10 read=0.125 flex.in=0.625 flex.out=5 flex.read=0.0625 priority.in=2.5 priority.out=20 priority.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-chat-latest in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-codex in=1.25 out=10 read=0.125 priority.in=2.5 priority.out=20 priority.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-mini in=0.25 out=2 read=0.025 batch.in=0.125 batch.out=1 batch.read=0.0125 flex.in=0.125 flex.out=1 flex.read=0.0125 priority.in=0.45 priority.out=3.6 priority.read=0.045 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-mini-2025-08-07 in=0.25 out=2 read=0.025 flex.in=0.125 flex.out=1 flex.read=0.0125 priority.in=0.45 priority.out=3.6 priority.read=0.045 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-nano in=0.05 out=0.4 read=0.005 batch.in=0.025 batch.out=0.2 batch.read=0.0025 flex.in=0.025 flex.out=0.2 flex.read=0.0025
gpt-5-nano-2025-08-07 in=0.05 out=0.4 read=0.005 flex.in=0.025 flex.out=0.2 flex.read=0.0025
gpt-5-pro in=15 out=120 batch.in=7.5 batch.out=60 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-pro-2025-10-06 in=15 out=120 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-search-api in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5-search-api-2025-10-14 in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1 in=1.25 out=10 read=0.125 batch.in=0.625 batch.out=5 batch.read=0.0625 flex.in=0.625 flex.out=5 flex.read=0.0625 priority.in=2.5 priority.out=20 priority.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-2025-11-13 in=1.25 out=10 read=0.125 flex.in=0.625 flex.out=5 flex.read=0.0625 priority.in=2.5 priority.out=20 priority.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-chat-latest in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-codex in=1.25 out=10 read=0.125 priority.in=2.5 priority.out=20 priority.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-codex-max in=1.25 out=10 read=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.1-codex-mini in=0.25 out=2 read=0.025 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2 in=1.75 out=14 read=0.175 batch.in=0.875 batch.out=7 batch.read=0.0875 flex.in=0.875 flex.out=7 flex.read=0.0875 priority.in=3.5 priority.out=28 priority.read=0.35 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-2025-12-11 in=1.75 out=14 read=0.175 flex.in=0.875 flex.out=7 flex.read=0.0875 priority.in=3.5 priority.out=28 priority.read=0.35 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-chat-2025-12-11 in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-chat-latest in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-codex in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-pro in=21 out=168 batch.in=10.5 batch.out=84 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.2-pro-2025-12-11 in=21 out=168 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.3-chat-latest in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.3-codex in=1.75 out=14 read=0.175 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-2026-03-05-gt-272k in=5 out=22.5 read=0.5 flex.in=2.5 flex.out=11.25 flex.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-2026-03-05-lte-272k in=2.5 out=15 read=0.25 flex.in=1.25 flex.out=7.5 flex.read=0.125 priority.in=5 priority.out=30 priority.read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-gt-272k in=5 out=22.5 read=0.5 flex.in=2.5 flex.out=11.25 flex.read=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-lte-272k in=2.5 out=15 read=0.25 flex.in=1.25 flex.out=7.5 flex.read=0.125 priority.in=5 priority.out=30 priority.read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-mini in=0.75 out=4.5 read=0.075 flex.in=0.375 flex.out=2.25 flex.read=0.0375 priority.in=1.5 priority.out=9 priority.read=0.15 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-mini-2026-03-17 in=0.75 out=4.5 read=0.075 flex.in=0.375 flex.out=2.25 flex.read=0.0375 priority.in=1.5 priority.out=9 priority.read=0.15 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-nano in=0.2 out=1.25 read=0.02 flex.in=0.1 flex.out=0.625 flex.read=0.01 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-nano-2026-03-17 in=0.2 out=1.25 read=0.02 flex.in=0.1 flex.out=0.625 flex.read=0.01 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-pro-2026-03-05-gt-272k in=60 out=270 flex.in=30 flex.out=135 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-pro-2026-03-05-lte-272k in=30 out=180 flex.in=15 flex.out=90 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-pro-gt-272k in=60 out=270 flex.in=30 flex.out=135 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.4-pro-lte-272k in=30 out=180 flex.in=15 flex.out=90 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-2026-04-23-gt-272k in=10 out=45 read=1 batch.in=5 batch.out=22.5 batch.read=0.5 flex.in=5 flex.out=22.5 flex.read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-2026-04-23-lte-272k in=5 out=30 read=0.5 batch.in=2.5 batch.out=15 batch.read=0.25 flex.in=2.5 flex.out=15 flex.read=0.25 priority.in=12.5 priority.out=75 priority.read=1.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-gt-272k in=10 out=45 read=1 batch.in=5 batch.out=22.5 batch.read=0.5 flex.in=5 flex.out=22.5 flex.read=0.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-lte-272k in=5 out=30 read=0.5 batch.in=2.5 batch.out=15 batch.read=0.25 flex.in=2.5 flex.out=15 flex.read=0.25 priority.in=12.5 priority.out=75 priority.read=1.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-pro-2026-04-23-gt-272k in=60 out=270 read=6 batch.in=30 batch.out=135 batch.read=3 flex.in=30 flex.out=135 flex.read=3 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-pro-2026-04-23-lte-272k in=30 out=180 read=3 batch.in=15 batch.out=90 batch.read=1.5 flex.in=15 flex.out=90 flex.read=1.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-pro-gt-272k in=60 out=270 read=6 batch.in=30 batch.out=135 batch.read=3 flex.in=30 flex.out=135 flex.read=3 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.5-pro-lte-272k in=30 out=180 read=3 batch.in=15 batch.out=90 batch.read=1.5 flex.in=15 flex.out=90 flex.read=1.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-2026-07-09-gt-272k in=10 out=45 read=1 write=12.5 batch.in=5 batch.out=22.5 batch.read=0.5 batch.write=6.25 flex.in=5 flex.out=22.5 flex.read=0.5 flex.write=6.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-2026-07-09-lte-272k in=5 out=30 read=0.5 write=6.25 batch.in=2.5 batch.out=15 batch.read=0.25 batch.write=3.125 flex.in=2.5 flex.out=15 flex.read=0.25 flex.write=3.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-gt-272k in=10 out=45 read=1 write=12.5 batch.in=5 batch.out=22.5 batch.read=0.5 batch.write=6.25 flex.in=5 flex.out=22.5 flex.read=0.5 flex.write=6.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-lte-272k in=5 out=30 read=0.5 write=6.25 batch.in=2.5 batch.out=15 batch.read=0.25 batch.write=3.125 flex.in=2.5 flex.out=15 flex.read=0.25 flex.write=3.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-luna-2026-07-09-gt-272k in=0.4 out=1.8 read=0.04 write=0.5 batch.in=0.2 batch.out=0.9 batch.read=0.02 batch.write=0.25 flex.in=0.2 flex.out=0.9 flex.read=0.02 flex.write=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-luna-2026-07-09-lte-272k in=0.2 out=1.2 read=0.02 write=0.25 batch.in=0.1 batch.out=0.6 batch.read=0.01 batch.write=0.125 flex.in=0.1 flex.out=0.6 flex.read=0.01 flex.write=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-luna-gt-272k in=0.4 out=1.8 read=0.04 write=0.5 batch.in=0.2 batch.out=0.9 batch.read=0.02 batch.write=0.25 flex.in=0.2 flex.out=0.9 flex.read=0.02 flex.write=0.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-luna-lte-272k in=0.2 out=1.2 read=0.02 write=0.25 batch.in=0.1 batch.out=0.6 batch.read=0.01 batch.write=0.125 flex.in=0.1 flex.out=0.6 flex.read=0.01 flex.write=0.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-sol-2026-07-09-gt-272k in=10 out=45 read=1 write=12.5 batch.in=5 batch.out=22.5 batch.read=0.5 batch.write=6.25 flex.in=5 flex.out=22.5 flex.read=0.5 flex.write=6.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-sol-2026-07-09-lte-272k in=5 out=30 read=0.5 write=6.25 batch.in=2.5 batch.out=15 batch.read=0.25 batch.write=3.125 flex.in=2.5 flex.out=15 flex.read=0.25 flex.write=3.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-sol-gt-272k in=10 out=45 read=1 write=12.5 batch.in=5 batch.out=22.5 batch.read=0.5 batch.write=6.25 flex.in=5 flex.out=22.5 flex.read=0.5 flex.write=6.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-sol-lte-272k in=5 out=30 read=0.5 write=6.25 batch.in=2.5 batch.out=15 batch.read=0.25 batch.write=3.125 flex.in=2.5 flex.out=15 flex.read=0.25 flex.write=3.125 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-terra-2026-07-09-gt-272k in=4 out=18 read=0.4 write=5 batch.in=2 batch.out=9 batch.read=0.2 batch.write=2.5 flex.in=2 flex.out=9 flex.read=0.2 flex.write=2.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-terra-2026-07-09-lte-272k in=2 out=12 read=0.2 write=2.5 batch.in=1 batch.out=6 batch.read=0.1 batch.write=1.25 flex.in=1 flex.out=6 flex.read=0.1 flex.write=1.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-terra-gt-272k in=4 out=18 read=0.4 write=5 batch.in=2 batch.out=9 batch.read=0.2 batch.write=2.5 flex.in=2 flex.out=9 flex.read=0.2 flex.write=2.5 unit.web_search=0.01 unit.file_search=0.0025
gpt-5.6-terra-lte-272k in=2 out=12 read=0.2 write=2.5 batch.in=1 batch.out=6 batch.read=0.1 batch.write=1.25 flex.in=1 flex.out=6 flex.read=0.1 flex.write=1.25 unit.web_search=0.01 unit.file_search=0.0025
gpt-audio in=2.5 out=10 audio-in=32 audio-out=64
gpt-audio-1.5 in=2.5 out=10 audio-in=32 audio-out=64
gpt-audio-2025-08-28 in=2.5 out=10 audio-in=32 audio-out=64
gpt-audio-mini in=0.6 out=2.4 audio-in=10 audio-out=20
gpt-audio-mini-2025-10-06 in=0.6 out=2.4 audio-in=10 audio-out=20
gpt-audio-mini-2025-12-15 in=0.6 out=2.4 audio-in=10 audio-out=20
gpt-image-1 in=5 read=1.25 image-in=10 image-out=40 image.default.default=0.167 image.default.1024x1024=0.167 image.default.1024x1536=0.25 image.default.1536x1024=0.25 image.high.default=0.167 image.high.1024x1024=0.167 image.high.1024x1536=0.25 image.high.1536x1024=0.25 image.medium.default=0.042 image.medium.1024x1024=0.042 image.medium.1024x1536=0.063 image.medium.1536x1024=0.063 image.low.default=0.011 image.low.1024x1024=0.011 image.low.1024x1536=0.016 image.low.1536x1024=0.016
gpt-image-1-mini in=2 read=0.2 image-in=2.5 image-out=8 image.default.default=0.036 image.default.1024x1024=0.036 image.default.1024x1536=0.052 image.default.1536x1024=0.052 image.high.default=0.036 image.high.1024x1024=0.036 image.high.1024x1536=0.052 image.high.1536x1024=0.052 image.medium.default=0.011 image.medium.1024x1024=0.011 image.medium.1024x1536=0.015 image.medium.1536x1024=0.015 image.low.default=0.005 image.low.1024x1024=0.005 image.low.1024x1536=0.006 image.low.1536x1024=0.006
gpt-image-1.5 in=5 out=10 read=1.25 image-in=8 image-out=32 image.default.default=0.133 image.default.1024x1024=0.133 image.default.1024x1536=0.2 image.default.1536x1024=0.2 image.high.default=0.133 image.high.1024x1024=0.133 image.high.1024x1536=0.2 image.high.1536x1024=0.2 image.medium.default=0.034 image.medium.1024x1024=0.034 image.medium.1024x1536=0.05 image.medium.1536x1024=0.05 image.low.default=0.009 image.low.1024x1024=0.009 image.low.1024x1536=0.013 image.low.1536x1024=0.013
gpt-image-1.5-2025-12-16 in=5 out=10 read=1.25 image-in=8 image-out=32 image.default.default=0.133 image.default.1024x1024=0.133 image.default.1024x1536=0.2 image.default.1536x1024=0.2 image.high.default=0.133 image.high.1024x1024=0.133 image.high.1024x1536=0.2 image.high.1536x1024=0.2 image.medium.default=0.034 image.medium.1024x1024=0.034 image.medium.1024x1536=0.05 image.medium.1536x1024=0.05 image.low.default=0.009 image.low.1024x1024=0.009 image.low.1024x1536=0.013 image.low.1536x1024=0.013
gpt-image-2 in=5 read=1.25 image-in=8 image-out=30 image.default.default=0.211 image.default.1024x1024=0.211 image.default.1024x1536=0.165 image.default.1536x1024=0.165 image.high.default=0.211 image.high.1024x1024=0.211 image.high.1024x1536=0.165 image.high.1536x1024=0.165 image.medium.default=0.053 image.medium.1024x1024=0.053 image.medium.1024x1536=0.041 image.medium.1536x1024=0.041 image.low.default=0.006 image.low.1024x1024=0.006 image.low.1024x1536=0.005 image.low.1536x1024=0.005
gpt-image-2-2026-04-21 in=5 read=1.25 image-in=8 image-out=30 image.default.default=0.211 image.default.1024x1024=0.211 image.default.1024x1536=0.165 image.default.1536x1024=0.165 image.high.default=0.211 image.high.1024x1024=0.211 image.high.1024x1536=0.165 image.high.1536x1024=0.165 image.medium.default=0.053 image.medium.1024x1024=0.053 image.medium.1024x1536=0.041 image.medium.1536x1024=0.041 image.low.default=0.006 image.low.1024x1024=0.006 image.low.1024x1536=0.005 image.low.1536x1024=0.005
gpt-realtime in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-1.5 in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-2 in=4 out=24 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-2025-08-28 in=4 out=16 read=0.4 audio-in=32 audio-out=64 audio-read=0.4 image-in=5
gpt-realtime-mini in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-mini-2025-10-06 in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
gpt-realtime-mini-2025-12-15 in=0.6 out=2.4 read=0.06 audio-in=10 audio-out=20 audio-read=0.3 image-in=0.8
o1 in=15 out=60 read=7.5 batch.in=7.5 batch.out=30 unit.file_search=0.0025
o1-2024-12-17 in=15 out=60 read=7.5 unit.file_search=0.0025
o1-mini in=1.1 out=4.4 read=0.55 batch.in=0.55 batch.out=2.2 unit.file_search=0.0025
o1-mini-2024-09-12 in=1.1 out=4.4 read=0.55 unit.file_search=0.0025
o1-preview in=15 out=60 read=7.5 unit.file_search=0.0025
o1-preview-2024-09-12 in=15 out=60 read=7.5 unit.file_search=0.0025
o1-pro in=150 out=600 batch.in=75 batch.out=300 unit.file_search=0.0025
o1-pro-2025-03-19 in=150 out=600 unit.file_search=0.0025
o3 in=2 out=8 read=0.5 batch.in=1 batch.out=4 flex.in=1 flex.out=4 flex.read=0.25 priority.in=3.5 priority.out=14 priority.read=0.875 unit.web_search=0.01 unit.file_search=0.0025
o3-2025-04-16 in=2 out=8 read=0.5 flex.in=1 flex.out=4 flex.read=0.25 priority.in=3.5 priority.out=14 priority.read=0.875 unit.file_search=0.0025 unit.web_search=0.01
o3-deep-research in=10 out=40 read=2.5 batch.in=5 batch.out=20 unit.web_search=0.01 unit.file_search=0.0025
o3-deep-research-2025-06-26 in=10 out=40 read=2.5 unit.web_search=0.01 unit.file_search=0.0025
o3-mini in=1.1 out=4.4 read=0.55 batch.in=0.55 batch.out=2.2 unit.file_search=0.0025
o3-mini-2025-01-31 in=1.1 out=4.4 read=0.55 unit.file_search=0.0025
o3-pro in=20 out=80 batch.in=10 batch.out=40 unit.file_search=0.0025
o3-pro-2025-06-10 in=20 out=80 unit.file_search=0.0025
o4-mini in=1.1 out=4.4 read=0.275 batch.in=0.55 batch.out=2.2 flex.in=0.55 flex.out=2.2 flex.read=0.1375 priority.in=2 priority.out=8 priority.read=0.5 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-2025-04-16 in=1.1 out=4.4 read=0.275 flex.in=0.55 flex.out=2.2 flex.read=0.1375 priority.in=2 priority.out=8 priority.read=0.5 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-deep-research in=2 out=8 read=0.5 batch.in=1 batch.out=4 unit.web_search=0.01 unit.file_search=0.0025
o4-mini-deep-research-2025-06-26 in=2 out=8 read=0.5 unit.web_search=0.01 unit.file_search=0.0025
omni-moderation-2024-09-26 in=0
omni-moderation-latest in=0
sora-2 unit.video_duration_seconds_720_1280=0.1 unit.video_duration_seconds_1280_720=0.1
sora-2-pro unit.video_duration_seconds_720_1280=0.3 unit.video_duration_seconds_1280_720=0.3 unit.video_duration_seconds_1024_1792=0.5 unit.video_duration_seconds_1792_1024=0.5
text-embedding-3-large in=0.13 batch.in=0.065
text-embedding-3-small in=0.02 batch.in=0.01
text-embedding-ada-002 in=0.1 batch.in=0.05
text-embedding-ada-002-v2 in=0.1
text-moderation-007 in=0
text-moderation-latest in=0
text-moderation-stable in=0
tts-1 in=15
tts-1-1106 in=15
tts-1-hd in=30
tts-1-hd-1106 in=30
whisper-1 unit.request_audio_token=0.006
# openrouter
ai21/jamba-large-1.7 in=2 out=8
ai21/jamba-mini-1.7 in=0.2 out=0.4
aion-labs/aion-1.0 in=4 out=8
aion-labs/aion-1.0-mini in=0.7 out=1.4
aion-labs/aion-2.0 in=0.8 out=1.6 read=0.2
aion-labs/aion-3.0 in=3 out=6 read=0.75
aion-labs/aion-3.0-mini in=0.7 out=1.4 read=0.18
aion-labs/aion-rp-llama-3.1-8b in=0.8 out=1.6
alfredpros/codellama-7b-instruct-solidity in=0.8 out=1.2
alibaba/tongyi-deepresearch-30b-a3b in=0.09 out=0.45 read=0.09
allenai/molmo-2-8b in=0.2 out=0.2
allenai/olmo-2-0325-32b-instruct in=0.05 out=0.2
allenai/olmo-3-32b-think in=0.15 out=0.5
allenai/olmo-3-7b-instruct in=0.1 out=0.2
allenai/olmo-3-7b-think in=0.12 out=0.2
allenai/olmo-3.1-32b-instruct in=0.2 out=0.6
allenai/olmo-3.1-32b-think in=0.15 out=0.5
alpindale/goliath-120b in=3.75 out=7.5
amazon/nova-2-lite-v1 in=0.3 out=2.5
amazon/nova-lite-v1 in=0.06 out=0.24
amazon/nova-micro-v1 in=0.035 out=0.14
amazon/nova-premier-v1 in=2.5 out=12.5 read=0.625
amazon/nova-pro-v1 in=0.8 out=3.2
anthracite-org/magnum-v4-72b in=3 out=5
anthropic/claude-3-haiku in=0.25 out=1.25 read=0.03 write=0.3
anthropic/claude-3-opus in=15 out=75
anthropic/claude-3.5-haiku in=0.8 out=4 read=0.08 write=1 unit.web_search=0.01
anthropic/claude-3.5-haiku-20241022 in=0.8 out=4
anthropic/claude-3.5-sonnet in=6 out=30
anthropic/claude-3.7-sonnet in=3 out=15 read=0.3 write=3.75 unit.web_search=0.01
anthropic/claude-3.7-sonnet:thinking in=3 out=15 read=0.3 write=3.75 unit.web_search=0.01
anthropic/claude-fable-5 in=10 out=50 read=1 write=12.5
anthropic/claude-fable-5:batch in=5 out=25 read=0.5 write=6.25
anthropic/claude-haiku-4.5 in=1 out=5 read=0.1 write=1.25 unit.web_search=0.01
anthropic/claude-haiku-4.5:batch in=0.5 out=2.5 read=0.05 write=0.625
anthropic/claude-opus-4 in=15 out=75 read=1.5 write=18.75 unit.web_search=0.01
anthropic/claude-opus-4.1 in=15 out=75 read=1.5 write=18.75 unit.web_search=0.01
anthropic/claude-opus-4.1:batch in=7.5 out=37.5 read=0.75 write=9.375
anthropic/claude-opus-4.5 in=5 out=25 read=0.5 write=6.25 unit.web_search=0.01
anthropic/claude-opus-4.5:batch in=2.5 out=12.5 read=0.25 write=3.125
anthropic/claude-opus-4.6 in=5 out=25 read=0.5 write=6.25 unit.web_search=0.01
anthropic/claude-opus-4.6-fast in=30 out=150 read=3 write=37.5 unit.web_search=0.01
anthropic/claude-opus-4.6:batch in=2.5 out=12.5 read=0.25 write=3.125
anthropic/claude-opus-4.7 in=5 out=25 read=0.5 write=6.25
anthropic/claude-opus-4.7-fast in=30 out=150 read=3 write=37.5
anthropic/claude-opus-4.7:batch in=2.5 out=12.5 read=0.25 write=3.125
anthropic/claude-opus-4.8 in=5 out=25 read=0.5 write=6.25
anthropic/claude-opus-4.8-fast in=10 out=50 read=1 write=12.5
anthropic/claude-opus-4.8:batch in=2.5 out=12.5 read=0.25 write=3.125
anthropic/claude-opus-5 in=5 out=25 read=0.5 write=6.25
anthropic/claude-opus-5-fast in=10 out=50 read=1 write=12.5
anthropic/claude-opus-5:batch in=2.5 out=12.5 read=0.25 write=3.125
anthropic/claude-sonnet-4 in=3 out=15 read=0.3 write=3.75 unit.web_search=0.01
anthropic/claude-sonnet-4-6 in=3 out=15
anthropic/claude-sonnet-4.5 in=3 out=15 read=0.3 write=3.75 unit.web_search=0.01
anthropic/claude-sonnet-4.5:batch in=1.5 out=7.5 read=0.15 write=1.875
anthropic/claude-sonnet-4.6 in=3 out=15 read=0.3 write=3.75 unit.web_search=0.01
anthropic/claude-sonnet-4.6:batch in=1.5 out=7.5 read=0.15 write=1.875
anthropic/claude-sonnet-5 in=2 out=10 read=0.2 write=2.5
anthropic/claude-sonnet-5:batch in=1 out=5 read=0.1 write=1.25
arcee-ai/coder-large in=0.5 out=0.8
arcee-ai/maestro-reasoning in=0.9 out=3.3
arcee-ai/spotlight in=0.18 out=0.18
arcee-ai/trinity-large-preview in=0.15 out=0.45
arcee-ai/trinity-large-thinking in=0.22 out=0.85 read=0.06
arcee-ai/trinity-mini in=0.045 out=0.15
arcee-ai/virtuoso-large in=0.75 out=1.2
arliai/qwq-32b-arliai-rpr-v1 in=0.03 out=0.11
baai/bge-base-en-v1.5 in=0.005
baai/bge-large-en-v1.5 in=0.01
baai/bge-m3 in=0.01
baidu/ernie-4.5-21b-a3b in=0.07 out=0.28
baidu/ernie-4.5-21b-a3b-thinking in=0.07 out=0.28
baidu/ernie-4.5-300b-a47b in=0.28 out=1.1
baidu/ernie-4.5-vl-28b-a3b in=0.14 out=0.56
baidu/ernie-4.5-vl-424b-a47b in=0.42 out=1.25
bytedance-seed/seed-1.6 in=0.25 out=2
bytedance-seed/seed-1.6-flash in=0.075 out=0.3
bytedance-seed/seed-2-1-turbo in=0.5 out=2.5
bytedance-seed/seed-2.0-code in=0.5 out=3
bytedance-seed/seed-2.0-lite in=0.25 out=2
bytedance-seed/seed-2.0-mini in=0.1 out=0.4
bytedance/ui-tars-1.5-7b in=0.1 out=0.2 read=0.1
cognitivecomputations/dolphin-mistral-24b-venice-edition in=0.2 out=0.9
cohere/command-a in=2.5 out=10
cohere/command-r-08-2024 in=0.15 out=0.6
cohere/command-r-plus-08-2024 in=2.5 out=10
cohere/command-r7b-12-2024 in=0.0375 out=0.15
deepcogito/cogito-v2-preview-deepseek-671b in=1.25 out=1.25
deepcogito/cogito-v2-preview-llama-109b-moe in=0.18 out=0.59
deepcogito/cogito-v2-preview-llama-405b in=3.5 out=3.5
deepcogito/cogito-v2-preview-llama-70b in=0.88 out=0.88
deepcogito/cogito-v2.1-671b in=1.25 out=1.25
deepseek/deepseek-chat in=0.2574 out=1.0287
deepseek/deepseek-chat-v3-0324 in=0.27 out=1.12 read=0.135
deepseek/deepseek-chat-v3.1 in=0.25 out=0.95 read=0.13
deepseek/deepseek-prover-v2 in=0.5 out=2.18
deepseek/deepseek-r1 in=0.7 out=2.5
deepseek/deepseek-r1-0528 in=0.5 out=2.15 read=0.35
deepseek/deepseek-r1-0528-qwen3-8b in=0.02 out=0.1
deepseek/deepseek-r1-distill-llama-70b in=0.8 out=0.8
deepseek/deepseek-r1-distill-qwen-14b in=0.12 out=0.12
deepseek/deepseek-r1-distill-qwen-32b in=0.29 out=0.29
deepseek/deepseek-v3.1-terminus in=0.27 out=1 read=0.13
deepseek/deepseek-v3.1-terminus:exacto in=0.21 out=0.79
deepseek/deepseek-v3.2 in=0.269 out=0.4 read=0.1345
deepseek/deepseek-v3.2-exp in=0.27 out=0.41
deepseek/deepseek-v3.2-speciale in=0.4 out=1.2 read=0.2
deepseek/deepseek-v4-flash in=0.0798 out=0.1596 read=0.01596
deepseek/deepseek-v4-flash-0731 in=0.14 out=0.28 read=0.028
deepseek/deepseek-v4-pro in=0.66 out=1.98 read=0.022
deepseek/deepseek-v4-pro-0813 in=0.66 out=1.98 read=0.022
eleutherai/llemma_7b in=0.8 out=1.2
essentialai/rnj-1-instruct in=0.15 out=0.15
google/gemini-2.0-flash-001 in=0.1 out=0.4 read=0.025 write=0.08334 audio-in=0.7 image-in=0.1
google/gemini-2.0-flash-lite-001 in=0.075 out=0.3 audio-in=0.075 image-in=0.075
google/gemini-2.5-flash in=0.3 out=2.5 read=0.03 write=0.083333 audio-in=1 image-in=0.3
google/gemini-2.5-flash-image-preview in=0.3 out=2.5
google/gemini-2.5-flash-lite in=0.1 out=0.4 read=0.01 write=0.083333 audio-in=0.3 image-in=0.1
google/gemini-2.5-flash-lite-preview-09-2025 in=0.1 out=0.4 read=0.01 write=0.08334 audio-in=0.3 image-in=0.1
google/gemini-2.5-flash-lite:batch in=0.05 out=0.2 read=0.01
google/gemini-2.5-flash-preview-09-2025 in=0.3 out=2.5
google/gemini-2.5-flash:batch in=0.15 out=1.25 read=0.03
google/gemini-2.5-pro in=1.25 out=10 read=0.125 write=0.375 audio-in=1.25 image-in=1.25
google/gemini-2.5-pro-preview in=1.25 out=10 read=0.125 write=0.375 audio-in=1.25 image-in=1.25
google/gemini-2.5-pro-preview-05-06 in=1.25 out=10 read=0.125 write=0.375 audio-in=1.25 image-in=1.25
google/gemini-2.5-pro:batch in=0.625 out=5 read=0.125
google/gemini-3-flash-preview in=0.5 out=3 read=0.05 write=0.083333 audio-in=1 image-in=0.5
google/gemini-3-flash-preview:batch in=0.25 out=1.5
google/gemini-3-pro-preview in=2 out=12
google/gemini-3.1-flash-lite in=0.25 out=1.5 read=0.025 write=0.083333
google/gemini-3.1-flash-lite-preview in=0.25 out=1.5 read=0.025 write=0.083333 audio-in=0.5 image-in=0.25
google/gemini-3.1-flash-lite:batch in=0.125 out=0.75 read=0.0125
google/gemini-3.1-pro-preview in=2 out=12 read=0.2 write=0.375 audio-in=2 image-in=2
google/gemini-3.1-pro-preview-customtools in=2 out=12 read=0.2 write=0.375 audio-in=2 image-in=2
google/gemini-3.1-pro-preview:batch in=1 out=6
google/gemini-3.5-flash in=1.5 out=9 read=0.15 write=0.083333
google/gemini-3.5-flash-lite in=0.3 out=2.5 read=0.03 write=0.083333
google/gemini-3.5-flash-lite:batch in=0.15 out=1.25 read=0.015
google/gemini-3.5-flash:batch in=0.75 out=4.5 read=0.075
google/gemini-3.6-flash in=0.75 out=3.75 read=0.075 write=0.041667
google/gemini-3.6-flash:batch in=0.375 out=1.875 read=0.0375 write=0.041667
google/gemini-3.7-flash in=0.375 out=1.875 read=0.0375 write=0.020833
google/gemini-3.7-flash:batch in=0.1875 out=0.9375 read=0.01875 write=0.020833
google/gemini-embedding-001 in=0.15
google/gemini-embedding-2 in=0.2
google/gemini-embedding-2-preview in=0.2
google/gemma-2-27b-it in=0.65 out=0.65
google/gemma-2-9b-it in=0.03 out=0.09
google/gemma-3-12b-it in=0.05 out=0.15
google/gemma-3-27b-it in=0.08 out=0.45 read=0.04
google/gemma-3-4b-it in=0.05 out=0.1
google/gemma-3n-e4b-it in=0.06 out=0.12
google/gemma-4-26b-a4b-it in=0.07 out=0.34
google/gemma-4-31b-it in=0.1 out=0.34 read=0.1
gryphe/mythomax-l2-13b in=0.06 out=0.06
ibm-granite/granite-4.0-h-micro in=0.017 out=0.112
ibm-granite/granite-4.1-8b in=0.05 out=0.1 read=0.05
inception/mercury in=0.25 out=0.75 read=0.025
inception/mercury-2 in=0.25 out=0.75 read=0.025
inception/mercury-coder in=0.25 out=0.75 read=0.025
inclusionai/ling-2.6-1t in=0.075 out=0.625 read=0.015
inclusionai/ling-2.6-flash in=0.01 out=0.03 read=0.002
inclusionai/ling-3.0-flash in=0.021 out=0.063 read=0.0042
inclusionai/ring-2.6-1t in=0.075 out=0.625 read=0.015
inflection/inflection-3-pi in=2.5 out=10
inflection/inflection-3-productivity in=2.5 out=10
intfloat/e5-base-v2 in=0.005
intfloat/e5-large-v2 in=0.01
intfloat/multilingual-e5-large in=0.01
kwaipilot/kat-coder-air-v2.5 in=0.15 out=0.6 read=0.03
kwaipilot/kat-coder-pro in=0.207 out=0.828
kwaipilot/kat-coder-pro-v2 in=0.3 out=1.2 read=0.06
kwaipilot/kat-coder-pro-v2.5 in=0.74 out=2.96 read=0.15
liquid/lfm-2-24b-a2b in=0.03 out=0.12
liquid/lfm-2.2-6b in=0.01 out=0.02
liquid/lfm2-8b-a1b in=0.01 out=0.02
mancer/weaver in=0.5 out=0.75
meituan/longcat-2.0 in=0.3 out=1.2 read=0.006
meituan/longcat-flash-chat in=0.2 out=0.8 read=0.2
meta-llama/llama-3-70b-instruct in=0.51 out=0.74
meta-llama/llama-3-8b-instruct in=0.04 out=0.04
meta-llama/llama-3.1-405b in=4 out=4
meta-llama/llama-3.1-405b-instruct in=4 out=4
meta-llama/llama-3.1-70b-instruct in=0.4 out=0.4
meta-llama/llama-3.1-8b-instruct in=0.05 out=0.08 read=0.025
meta-llama/llama-3.2-11b-vision-instruct in=0.245 out=0.245
meta-llama/llama-3.2-1b-instruct in=0.027 out=0.201
meta-llama/llama-3.2-3b-instruct in=0.05 out=0.33
meta-llama/llama-3.2-90b-vision-instruct in=0.35 out=0.4
meta-llama/llama-3.3-70b-instruct in=0.13 out=0.4
meta-llama/llama-4-maverick in=0.2 out=0.8
meta-llama/llama-4-scout in=0.1 out=0.3
meta-llama/llama-guard-2-8b in=0.2 out=0.2
meta-llama/llama-guard-3-8b in=0.48 out=0.03
meta-llama/llama-guard-4-12b in=0.18 out=0.18
meta/muse-glimmer-30b in=0.35 out=1.5 read=0.04
meta/muse-spark-1.1 in=1.25 out=4.25 read=0.15
meta/muse-spark-1.2 in=1.25 out=4.25 read=0.15
microsoft/mai-ds-r1 in=0.3 out=1.2
microsoft/mai-image-2.5 in=5 out=47 unit.input_image=0.000008
microsoft/phi-3-medium-128k-instruct in=1 out=1
microsoft/phi-3-mini-128k-instruct in=0.1 out=0.1
microsoft/phi-3.5-mini-128k-instruct in=0.1 out=0.1
microsoft/phi-4 in=0.07 out=0.14
microsoft/phi-4-mini-instruct in=0.08 out=0.35
microsoft/phi-4-multimodal-instruct in=0.05 out=0.1
microsoft/phi-4-reasoning-plus in=0.07 out=0.35
microsoft/wizardlm-2-8x22b in=0.62 out=0.62
minimax/minimax-01 in=0.2 out=1.1
minimax/minimax-m1 in=0.55 out=2.2
minimax/minimax-m2 in=0.255 out=1.02 read=0.03
minimax/minimax-m2-her in=0.3 out=1.2 read=0.03
minimax/minimax-m2.1 in=0.3 out=1.2 read=0.03
minimax/minimax-m2.5 in=0.22 out=0.9 read=0.05
minimax/minimax-m2.7 in=0.3 out=1.2 read=0.06
minimax/minimax-m3 in=0.3 out=1.2 read=0.06
minimax/minimax-m3:batch in=0.15 out=0.6 read=0.03
mistralai/codestral-2508 in=0.3 out=0.9 read=0.03
mistralai/codestral-embed-2505 in=0.15
mistralai/devstral-2512 in=0.4 out=2 read=0.04
mistralai/devstral-medium in=0.4 out=2 read=0.04
mistralai/devstral-small in=0.1 out=0.3 read=0.01
mistralai/devstral-small-2505 in=0.06 out=0.12
mistralai/magistral-medium-2506:thinking in=2 out=5
mistralai/ministral-14b-2512 in=0.2 out=0.2 read=0.02
mistralai/ministral-3b in=0.04 out=0.04
mistralai/ministral-3b-2512 in=0.1 out=0.1 read=0.01
mistralai/ministral-8b in=0.1 out=0.1
mistralai/ministral-8b-2512 in=0.15 out=0.15 read=0.015
mistralai/mistral-7b-instruct in=0.2 out=0.2
mistralai/mistral-7b-instruct-v0.1 in=0.11 out=0.19
mistralai/mistral-7b-instruct-v0.2 in=0.2 out=0.2
mistralai/mistral-7b-instruct-v0.3 in=0.2 out=0.2
mistralai/mistral-embed-2312 in=0.1
mistralai/mistral-large in=2 out=6 read=0.2
mistralai/mistral-large-2407 in=2 out=6 read=0.2
mistralai/mistral-large-2411 in=2 out=6 read=0.2
mistralai/mistral-large-2512 in=0.5 out=1.5 read=0.05
mistralai/mistral-medium-3 in=0.4 out=2 read=0.04
mistralai/mistral-medium-3-5 in=1.5 out=7.5
mistralai/mistral-medium-3.1 in=0.4 out=2 read=0.04
mistralai/mistral-nemo in=0.019 out=0.03
mistralai/mistral-saba in=0.2 out=0.6 read=0.02
mistralai/mistral-small-24b-instruct-2501 in=0.05 out=0.08
mistralai/mistral-small-2603 in=0.15 out=0.6 read=0.015
mistralai/mistral-small-3.1-24b-instruct in=0.351 out=0.555
mistralai/mistral-small-3.2-24b-instruct in=0.09375 out=0.25
mistralai/mistral-small-creative in=0.1 out=0.3 read=0.01
mistralai/mistral-tiny in=0.25 out=0.25
mistralai/mixtral-8x22b-instruct in=2 out=6 read=0.2
mistralai/mixtral-8x7b-instruct in=0.54 out=0.54
mistralai/pixtral-12b in=0.1 out=0.1
mistralai/pixtral-large-2411 in=2 out=6 read=0.2
mistralai/voxtral-small-24b-2507 in=0.1 out=0.3 read=0.01 audio-in=100
moonshotai/kimi-dev-72b in=0.29 out=1.15
moonshotai/kimi-k2 in=0.57 out=2.3
moonshotai/kimi-k2-0905 in=0.6 out=2.5
moonshotai/kimi-k2-0905:exacto in=0.6 out=2.5
moonshotai/kimi-k2-thinking in=0.6 out=2.5 read=0.15
moonshotai/kimi-k2.5 in=0.57 out=2.85 read=0.095
moonshotai/kimi-k2.6 in=0.5605 out=2.36 read=0.0944
moonshotai/kimi-k2.7-code in=0.71 out=3.5 read=0.15
moonshotai/kimi-k2.7-code:batch in=0.475 out=2 read=0.095
moonshotai/kimi-k3 in=3 out=15 read=0.3
moonshotai/kimi-linear-48b-a3b-instruct in=0.5 out=0.6
morph/morph-v3-fast in=0.8 out=1.2
morph/morph-v3-large in=0.9 out=1.9
neversleep/llama-3.1-lumimaid-8b in=0.09 out=0.6
neversleep/noromaid-20b in=1 out=1.75
nex-agi/deepseek-v3.1-nex-n1 in=0.135 out=0.5
nex-agi/nex-n2-mini in=0.025 out=0.1 read=0.0025
nex-agi/nex-n2-pro in=0.25 out=1 read=0.025
nousresearch/deephermes-3-mistral-24b-preview in=0.02 out=0.1
nousresearch/hermes-2-pro-llama-3-8b in=0.14 out=0.14
nousresearch/hermes-3-llama-3.1-405b in=1 out=1
nousresearch/hermes-3-llama-3.1-70b in=0.7 out=0.7
nousresearch/hermes-4-405b in=1 out=3
nousresearch/hermes-4-70b in=0.13 out=0.4
nvidia/llama-3.1-nemotron-70b-instruct in=1.2 out=1.2
nvidia/llama-3.1-nemotron-ultra-253b-v1 in=0.6 out=1.8
nvidia/llama-3.3-nemotron-super-49b-v1.5 in=0.4 out=0.4
nvidia/nemotron-3-nano-30b-a3b in=0.05 out=0.2 read=0.03
nvidia/nemotron-3-super-120b-a12b in=0.085 out=0.4
nvidia/nemotron-3-ultra-550b-a55b in=0.6 out=3.6 read=0.2
nvidia/nemotron-3-ultra-550b-a55b:batch in=0.3 out=1.8 read=0.1
nvidia/nemotron-3.5-lightning in=0.08 out=0.2 read=0.04
nvidia/nemotron-nano-12b-v2-vl in=0.2 out=0.6
nvidia/nemotron-nano-9b-v2 in=0.04 out=0.16
openai/chatgpt-4o-latest in=5 out=15
openai/codex-mini in=1.5 out=6
openai/gpt-3.5-turbo in=0.5 out=1.5
openai/gpt-3.5-turbo-0613 in=1 out=2
openai/gpt-3.5-turbo-16k in=3 out=4
openai/gpt-3.5-turbo-instruct in=1.5 out=2
openai/gpt-3.5-turbo:batch in=0.25 out=0.75
openai/gpt-4 in=30 out=60
openai/gpt-4-0314 in=30 out=60
openai/gpt-4-1106-preview in=10 out=30
openai/gpt-4-turbo in=10 out=30
openai/gpt-4-turbo-preview in=10 out=30
openai/gpt-4-turbo:batch in=5 out=15
openai/gpt-4.1 in=2 out=8 read=0.5
openai/gpt-4.1-mini in=0.4 out=1.6 read=0.1 unit.web_search=0.01
openai/gpt-4.1-mini:batch in=0.2 out=0.8 read=0.05
openai/gpt-4.1-nano in=0.1 out=0.4 read=0.025 unit.web_search=0.01
openai/gpt-4.1-nano:batch in=0.05 out=0.2 read=0.0125
openai/gpt-4.1:batch in=1 out=4 read=0.25
openai/gpt-4o in=2.5 out=10 read=1.25
openai/gpt-4o-2024-05-13 in=5 out=15
openai/gpt-4o-2024-08-06 in=2.5 out=10 read=1.25
openai/gpt-4o-2024-11-20 in=2.5 out=10 read=1.25
openai/gpt-4o-audio-preview in=2.5 out=10 audio-in=40
openai/gpt-4o-mini in=0.15 out=0.6 read=0.075
openai/gpt-4o-mini-2024-07-18 in=0.15 out=0.6 read=0.075
openai/gpt-4o-mini-search-preview in=0.15 out=0.6 unit.web_search=0.0275
openai/gpt-4o-mini:batch in=0.075 out=0.3 read=0.0375
openai/gpt-4o-search-preview in=2.5 out=10 unit.web_search=0.035
openai/gpt-4o:batch in=1.25 out=5 read=0.625
openai/gpt-4o:extended in=6 out=18
openai/gpt-5 in=1.25 out=10 read=0.125
openai/gpt-5-chat in=1.25 out=10 read=0.125 unit.web_search=0.01
openai/gpt-5-codex in=1.25 out=10 read=0.125
openai/gpt-5-codex:batch in=0.625 out=5 read=0.0625
openai/gpt-5-mini in=0.25 out=2 read=0.025 unit.web_search=0.01
openai/gpt-5-mini:batch in=0.125 out=1 read=0.0125
openai/gpt-5-nano in=0.05 out=0.4 read=0.005
openai/gpt-5-nano:batch in=0.025 out=0.2 read=0.0025
openai/gpt-5-pro in=15 out=120 unit.web_search=0.01
openai/gpt-5-pro:batch in=7.5 out=60
openai/gpt-5.1 in=1.25 out=10 read=0.125
openai/gpt-5.1-chat in=1.25 out=10 read=0.125 unit.web_search=0.01
openai/gpt-5.1-codex in=1.25 out=10 read=0.13
openai/gpt-5.1-codex-max in=1.25 out=10 read=0.125 unit.web_search=0.01
openai/gpt-5.1-codex-mini in=0.25 out=2 read=0.03
openai/gpt-5.1:batch in=0.625 out=5 read=0.0625
openai/gpt-5.2 in=1.75 out=14 read=0.175
openai/gpt-5.2-chat in=1.75 out=14 read=0.175
openai/gpt-5.2-codex in=1.75 out=14 read=0.175
openai/gpt-5.2-pro in=21 out=168 unit.web_search=0.01
openai/gpt-5.2-pro:batch in=10.5 out=84
openai/gpt-5.2:batch in=0.875 out=7 read=0.0875
openai/gpt-5.3-chat in=1.75 out=14 read=0.175 unit.web_search=0.1
openai/gpt-5.3-codex in=1.75 out=14 read=0.175 unit.web_search=0.01
openai/gpt-5.4 in=2.5 out=15 read=0.25 unit.web_search=0.01
openai/gpt-5.4-2026-03-05 in=2.5 out=15
openai/gpt-5.4-mini in=0.75 out=4.5 read=0.075 unit.web_search=0.01
openai/gpt-5.4-mini:batch in=0.375 out=2.25 read=0.0375
openai/gpt-5.4-nano in=0.2 out=1.25 read=0.02 unit.web_search=0.01
openai/gpt-5.4-nano:batch in=0.1 out=0.625 read=0.01
openai/gpt-5.4-pro in=30 out=180 unit.web_search=0.01
openai/gpt-5.4-pro:batch in=15 out=90
openai/gpt-5.4:batch in=1.25 out=7.5 read=0.125
openai/gpt-5.5 in=5 out=30 read=0.5
openai/gpt-5.5-pro in=30 out=180
openai/gpt-5.5-pro:batch in=15 out=90
openai/gpt-5.5:batch in=2.5 out=15 read=0.25
openai/gpt-5.6-luna in=0.2 out=1.2 read=0.02 write=0.25
openai/gpt-5.6-luna-pro in=0.2 out=1.2 read=0.02 write=0.25
openai/gpt-5.6-luna-pro:batch in=0.1 out=0.6 read=0.01
openai/gpt-5.6-luna:batch in=0.1 out=0.6 read=0.01
openai/gpt-5.6-sol in=2.5 out=15 read=0.25 write=3.125
openai/gpt-5.6-sol-pro in=5 out=30 read=0.5 write=6.25
openai/gpt-5.6-sol-pro:batch in=2.5 out=15 read=0.25
openai/gpt-5.6-sol:batch in=1.25 out=7.5 read=0.125
openai/gpt-5.6-terra in=2 out=12 read=0.2 write=2.5
openai/gpt-5.6-terra-pro in=2 out=12 read=0.2 write=2.5
openai/gpt-5.6-terra-pro:batch in=1 out=6 read=0.1
openai/gpt-5.6-terra:batch in=1 out=6 read=0.1
openai/gpt-5:batch in=0.625 out=5 read=0.0625
openai/gpt-audio in=2.5 out=10 audio-in=32
openai/gpt-audio-mini in=0.6 out=2.4 audio-in=0.6
openai/gpt-chat-latest in=5 out=30 read=0.5
openai/gpt-oss-120b in=0.03 out=0.17 read=0.03
openai/gpt-oss-120b:exacto in=0.039 out=0.19
openai/gpt-oss-20b in=0.03 out=0.13 read=0.03
openai/gpt-oss-safeguard-20b in=0.075 out=0.3 read=0.0375
openai/o1 in=15 out=60 read=7.5
openai/o1-pro in=150 out=600
openai/o1-pro:batch in=75 out=300
openai/o1:batch in=7.5 out=30 read=3.75
openai/o3 in=2 out=8 read=0.5 unit.web_search=0.01
openai/o3-deep-research in=10 out=40 read=2.5 unit.web_search=0.01
openai/o3-mini in=1.1 out=4.4 read=0.55
openai/o3-mini-high in=1.1 out=4.4 read=0.55
openai/o3-mini-high:batch in=0.55 out=2.2 read=0.275
openai/o3-mini:batch in=0.55 out=2.2 read=0.275
openai/o3-pro in=20 out=80 unit.web_search=0.01
openai/o3-pro:batch in=10 out=40
openai/o3:batch in=1 out=4 read=0.25
openai/o4-mini in=1.1 out=4.4 read=0.275 unit.web_search=0.01
openai/o4-mini-deep-research in=2 out=8 read=0.5 unit.web_search=0.01
openai/o4-mini-high in=1.1 out=4.4 read=0.275 unit.web_search=0.01
openai/o4-mini-high:batch in=0.55 out=2.2 read=0.1375
openai/o4-mini:batch in=0.55 out=2.2 read=0.1375
openai/text-embedding-3-large in=0.13
openai/text-embedding-3-small in=0.02
openai/text-embedding-ada-002 in=0.1
opengvlab/internvl3-78b in=0.15 out=0.6
perceptron/perceptron-mk1 in=0.15 out=1.5
perplexity/pplx-embed-v1-0.6b in=0.004
perplexity/pplx-embed-v1-4b in=0.03
perplexity/sonar in=1 out=1 unit.web_search=0.005
perplexity/sonar-deep-research in=2 out=8 unit.web_search=0.005
perplexity/sonar-pro in=3 out=15 unit.web_search=0.005
perplexity/sonar-pro-search in=3 out=15 unit.web_search=0.018
perplexity/sonar-reasoning in=1 out=5
perplexity/sonar-reasoning-pro in=2 out=8 unit.web_search=0.005
poolside/laguna-m.1 in=0.2 out=0.4
poolside/laguna-s-2.1 in=0.09 out=0.18 read=0.009
poolside/laguna-xs-2.1 in=0.06 out=0.12 read=0.03
prime-intellect/intellect-3 in=0.2 out=1.1
qwen/qwen-2.5-72b-instruct in=0.36 out=0.4
qwen/qwen-2.5-7b-instruct in=0.1 out=0.2
qwen/qwen-2.5-coder-32b-instruct in=0.66 out=1
qwen/qwen-2.5-vl-7b-instruct in=0.2 out=0.2
qwen/qwen-max in=1.04 out=4.16 read=0.208
qwen/qwen-plus in=0.26 out=0.78 read=0.052 write=0.325
qwen/qwen-plus-2025-07-28 in=0.26 out=0.78
qwen/qwen-plus-2025-07-28:thinking in=0.26 out=0.78
qwen/qwen-turbo in=0.0325 out=0.13 read=0.0065
qwen/qwen-vl-max in=0.52 out=2.08
qwen/qwen-vl-plus in=0.1365 out=0.4095 read=0.0273
qwen/qwen2.5-coder-7b-instruct in=0.03 out=0.09
qwen/qwen2.5-vl-32b-instruct in=0.2 out=0.6
qwen/qwen2.5-vl-72b-instruct in=0.8 out=1 read=0.4
qwen/qwen3-14b in=0.12 out=0.24
qwen/qwen3-235b-a22b in=0.455 out=1.82
qwen/qwen3-235b-a22b-2507 in=0.09 out=0.55
qwen/qwen3-235b-a22b-thinking-2507 in=0.23 out=2.3
qwen/qwen3-30b-a3b in=0.13 out=0.52
qwen/qwen3-30b-a3b-instruct-2507 in=0.04815 out=0.19305
qwen/qwen3-30b-a3b-thinking-2507 in=0.2 out=2.4 read=0.08
qwen/qwen3-32b in=0.08 out=0.28 read=0.04
qwen/qwen3-4b in=0.0715 out=0.273
qwen/qwen3-8b in=0.117 out=0.455 read=0.05
qwen/qwen3-coder in=0.3 out=1 read=0.1
qwen/qwen3-coder-30b-a3b-instruct in=0.07 out=0.28
qwen/qwen3-coder-flash in=0.195 out=0.975 read=0.039 write=0.24375
qwen/qwen3-coder-next in=0.12 out=0.8 read=0.07
qwen/qwen3-coder-plus in=0.65 out=3.25 read=0.13 write=0.8125
qwen/qwen3-coder:exacto in=0.22 out=1.8
qwen/qwen3-embedding-4b in=0.02
qwen/qwen3-embedding-8b in=0.01
qwen/qwen3-max in=0.78 out=3.9 read=0.156 write=0.975
qwen/qwen3-max-thinking in=0.78 out=3.9
qwen/qwen3-next-80b-a3b-instruct in=0.1 out=1.1 read=0.07
qwen/qwen3-next-80b-a3b-thinking in=0.15 out=1.2
qwen/qwen3-vl-235b-a22b-instruct in=0.21 out=1.9 read=0.1
qwen/qwen3-vl-235b-a22b-thinking in=0.4 out=4
qwen/qwen3-vl-30b-a3b-instruct in=0.13 out=0.52
qwen/qwen3-vl-30b-a3b-thinking in=0.2 out=2.4
qwen/qwen3-vl-32b-instruct in=0.104 out=0.416
qwen/qwen3-vl-8b-instruct in=0.117 out=0.455
qwen/qwen3-vl-8b-thinking in=0.18 out=2.1
qwen/qwen3.5-122b-a10b in=0.29 out=2.4
qwen/qwen3.5-27b in=0.195 out=1.56
qwen/qwen3.5-35b-a3b in=0.225 out=1.8 read=0.225
qwen/qwen3.5-397b-a17b in=0.45 out=3
qwen/qwen3.5-9b in=0.1 out=0.15
qwen/qwen3.5-flash-02-23 in=0.065 out=0.26
qwen/qwen3.5-plus-02-15 in=0.26 out=1.56
qwen/qwen3.5-plus-20260420 in=0.3 out=1.8 write=0.375
qwen/qwen3.6-27b in=0.289 out=2.4
qwen/qwen3.6-35b-a3b in=0.14 out=1 read=0.05
qwen/qwen3.6-flash in=0.1875 out=1.125 write=0.234375
qwen/qwen3.6-max-preview in=1.027 out=6.162 write=1.28375
qwen/qwen3.6-plus in=0.325 out=1.95 write=0.40625
qwen/qwen3.7-flash in=0.03 out=0.13 read=0.006 write=0.038
qwen/qwen3.7-max in=1.475 out=4.425 read=0.295 write=1.84375
qwen/qwen3.7-plus in=0.32 out=1.28 read=0.064 write=0.4
qwen/qwen3.8-2.4t-a95b in=2 out=6 read=0.25
qwen/qwen3.8-27b in=0.45 out=3.2 read=0.05
qwen/qwen3.8-max in=2 out=6 read=0.25 write=2.5
qwen/qwq-32b in=0.15 out=0.58
raifle/sorcererlm-8x22b in=4.5 out=4.5
rekaai/reka-edge in=0.1 out=0.1
rekaai/reka-flash-3 in=0.1 out=0.2
relace/relace-apply-3 in=0.85 out=1.25
relace/relace-search in=1 out=3
sakana/fugu-ultra in=5 out=30 read=0.5
sakana/sakana-namazu in=0.95 out=4 read=0.15
sao10k/l3-euryale-70b in=1.48 out=1.48
sao10k/l3-lunaris-8b in=0.04 out=0.05
sao10k/l3.1-70b-hanami-x1 in=3 out=3
sao10k/l3.1-euryale-70b in=0.85 out=0.85
sao10k/l3.3-euryale-70b in=0.65 out=0.75
sentence-transformers/all-minilm-l12-v2 in=0.005
sentence-transformers/all-minilm-l6-v2 in=0.005
sentence-transformers/all-mpnet-base-v2 in=0.005
sentence-transformers/multi-qa-mpnet-base-dot-v1 in=0.005
sentence-transformers/paraphrase-minilm-l6-v2 in=0.005
stepfun-ai/step3 in=0.57 out=1.42
stepfun/step-3.5-flash in=0.1 out=0.3
stepfun/step-3.7-flash in=0.2 out=1.15 read=0.04
switchpoint/router in=0.85 out=3.4
tencent/hunyuan-a13b-instruct in=0.14 out=0.57
tencent/hy3 in=0.132 out=0.528 read=0.033
tencent/hy3-preview in=0.18 out=0.6 read=0.06
thedrummer/anubis-70b-v1.1 in=0.75 out=1
thedrummer/cydonia-24b-v4.1 in=0.3 out=0.5 read=0.15
thedrummer/rocinante-12b in=0.25 out=0.5
thedrummer/skyfall-36b-v2 in=0.55 out=0.8 read=0.25
thedrummer/unslopnemo-12b in=0.4 out=0.4
thenlper/gte-base in=0.005
thenlper/gte-large in=0.01
thinkingmachines/inkling in=0.95 out=4.05 read=0.16
thinkingmachines/inkling-small in=0.45 out=1.2 read=0.1
thinkingmachines/inkling:batch in=0.5 out=2.025 read=0.085
thudm/glm-4.1v-9b-thinking in=0.028 out=0.1104
tngtech/deepseek-r1t-chimera in=0.3 out=1.2
tngtech/deepseek-r1t2-chimera in=0.3 out=1.1 read=0.15
tngtech/tng-r1t-chimera in=0.25 out=0.85
undi95/remm-slerp-l2-13b in=0.45 out=0.65
upstage/solar-pro-3 in=0.15 out=0.6 read=0.015
upstage/solar-pro4 in=0.03 out=0.12 read=0.006
writer/palmyra-x5 in=0.6 out=6
x-ai/grok-3 in=3 out=15 read=0.75 unit.web_search=0.005
x-ai/grok-3-beta in=3 out=15 read=0.75 unit.web_search=0.005
x-ai/grok-3-mini in=0.3 out=0.5 read=0.075 unit.web_search=0.005
x-ai/grok-3-mini-beta in=0.3 out=0.5 read=0.075 unit.web_search=0.005
x-ai/grok-4 in=3 out=15 read=0.75 unit.web_search=0.005
x-ai/grok-4-fast in=0.2 out=0.5 read=0.05 unit.web_search=0.005
x-ai/grok-4.1-fast in=0.2 out=0.5 read=0.05 unit.web_search=0.005
x-ai/grok-4.20 in=1.25 out=2.5 read=0.2 unit.web_search=0.005
x-ai/grok-4.20-beta in=2 out=6
x-ai/grok-4.20-multi-agent in=1.25 out=2.5 read=0.2 unit.web_search=0.005
x-ai/grok-4.20-multi-agent-beta in=2 out=6
x-ai/grok-4.3 in=1.25 out=2.5 read=0.2
x-ai/grok-4.5 in=2 out=6 read=0.3
x-ai/grok-4.6 in=2 out=6 read=0.5
x-ai/grok-build-0.1 in=1 out=2 read=0.2
x-ai/grok-code-fast-1 in=0.2 out=1.5 read=0.02 unit.web_search=0.005
xiaomi/mimo-v2-flash in=0.09 out=0.29 read=0.045
xiaomi/mimo-v2-omni in=0.4 out=2 read=0.08
xiaomi/mimo-v2-pro in=1 out=3 read=0.2
xiaomi/mimo-v2.5 in=0.14 out=0.28 read=0.0028
xiaomi/mimo-v2.5-pro in=0.435 out=0.87 read=0.0036
z-ai/glm-4-32b in=0.1 out=0.1
z-ai/glm-4.5 in=0.6 out=2.2 read=0.11
z-ai/glm-4.5-air in=0.13 out=0.85 read=0.025
z-ai/glm-4.5v in=0.6 out=1.8 read=0.11
z-ai/glm-4.6 in=0.5 out=2 read=0.1
z-ai/glm-4.6:exacto in=0.44 out=1.76
z-ai/glm-4.6v in=0.3 out=0.9 read=0.055
z-ai/glm-4.7 in=0.4 out=1.75 read=0.08
z-ai/glm-4.7-flash in=0.06 out=0.4 read=0.01
z-ai/glm-5 in=0.6 out=1.92 read=0.12
z-ai/glm-5-turbo in=1.2 out=4 read=0.24
z-ai/glm-5.1 in=0.966 out=3.036 read=0.1794
z-ai/glm-5.2 in=0.49 out=1.54 read=0.091
z-ai/glm-5.2:batch in=0.7 out=2.2 read=0.13
z-ai/glm-5v-turbo in=1.2 out=4 read=0.24
~anthropic/claude-fable-latest in=10 out=50 read=1 write=12.5
~anthropic/claude-haiku-latest in=1 out=5 read=0.1 write=1.25
~anthropic/claude-opus-latest in=5 out=25 read=0.5 write=6.25
~anthropic/claude-sonnet-latest in=2 out=10 read=0.2 write=2.5
~deepseek/deepseek-v4-flash-latest in=0.078596 out=0.157192 read=0.015719
~google/gemini-flash-latest in=0.375 out=1.875 read=0.0375 write=0.020833
~google/gemini-pro-latest in=2 out=12 read=0.2 write=0.375
~moonshotai/kimi-latest in=2.6 out=13 read=0.29
~openai/gpt-latest in=2.5 out=15 read=0.25 write=3.125
~openai/gpt-mini-latest in=0.75 out=4.5 read=0.075
~x-ai/grok-latest in=2 out=6 read=0.5
# oracle
google.gemini-2.5-flash in=0.1 out=0.4
google.gemini-2.5-flash-lite in=0.3 out=2.5
google.gemini-2.5-pro in=1.25 out=10
openai.gpt-oss-120b in=0.15 out=0.6
openai.gpt-oss-20b in=0.07 out=0.3
xai.grok-3 in=3 out=15 read=0.75
xai.grok-3-fast in=5 out=25 read=1.25
xai.grok-3-mini in=0.3 out=0.5 read=0.075
xai.grok-3-mini-fast in=0.6 out=4 read=0.15
xai.grok-4 in=3 out=15 read=0.75
xai.grok-4-fast-non-reasoning in=0.2 out=0.5 read=0.05
xai.grok-4-fast-reasoning in=0.2 out=0.5 read=0.05
xai.grok-code-fast-1 in=0.2 out=1.5 read=0.02
# palm
models/chat-bison-001 in=0.5 out=0.5
models/text-bison-001 in=0.5 out=0.5
# perplexity-ai
codellama-34b-instruct in=0.8 out=0.8
codellama-70b-instruct in=1 out=1
llama-2-70b-chat in=1 out=1
llama-3-70b-instruct in=1 out=1
llama-3-8b-instruct in=0.2 out=0.2
llama-3-sonar-large-32k-chat in=1 out=1
llama-3-sonar-large-32k-online in=1 out=1
llama-3-sonar-small-32k-chat in=0.2 out=0.2
llama-3-sonar-small-32k-online in=0.2 out=0.2
llama-3.1-70b-instruct in=0.2 out=1
llama-3.1-8b-instruct in=0.2 out=1
llama-3.1-sonar-huge-128k-online in=5 out=5
llama-3.1-sonar-large-128k-chat in=1 out=1
llama-3.1-sonar-large-128k-online in=1 out=1
llama-3.1-sonar-small-128k-chat in=0.2 out=0.2
llama-3.1-sonar-small-128k-online in=0.2 out=0.2
mistral-7b-instruct in=0.2 out=0.2
mixtral-8x7b-instruct in=0.6 out=0.6
pplx-70b-chat in=1 out=1
pplx-70b-online out=2.8
pplx-7b-chat in=0.2 out=0.2
pplx-7b-online out=0.28
r1-1776 in=2 out=8
sonar in=1 out=1 unit.web_search_low_context=0.005 unit.web_search_medium_context=0.008 unit.web_search_high_context=0.012
sonar-deep-research in=2 out=8 unit.web_search=0.005
sonar-pro in=3 out=15 unit.web_search_low_context=0.006 unit.web_search_medium_context=0.01 unit.web_search_high_context=0.014
sonar-reasoning in=1 out=5 unit.web_search_low_context=0.005 unit.web_search_medium_context=0.008 unit.web_search_high_context=0.012
sonar-reasoning-pro in=2 out=8 unit.web_search_low_context=0.006 unit.web_search_medium_context=0.01 unit.web_search_high_context=0.014
# predibase
21b in=0.25 out=0.25
70b in=1 out=1
7b in=0.2 out=0.2
mixtral-8x7b-instruct-v0-1 in=1 out=1
mixtral-8x7b-v0-1 in=1 out=1
# reka-ai
reka-core in=10 out=25
reka-core-20240415 in=10 out=25
reka-core-20240501 in=10 out=25
reka-edge in=0.4 out=1
reka-edge-20240208 in=0.4 out=1
reka-flash in=0.8 out=2
reka-flash-20240226 in=0.8 out=2
# stability-ai
core image.default.default=0.03
sd3-large image.default.default=0.065
sd3-large-turbo image.default.default=0.04
sd3-medium image.default.default=0.035
sd3.5-large image.default.default=0.065
sd3.5-large-turbo image.default.default=0.04
sd3.5-medium image.default.default=0.035
stable-diffusion-v1-6 image.default.default=0.04
stable-diffusion-xl-1024-v1-0 image.default.default=0.04
stable-diffusion-xl-beta-v2-2-2 image.default.default=0.04
ultra image.default.default=0.08
# together-ai
Austism/chronos-hermes-13b in=0.3 out=0.3
BAAI/bge-base-en-v1.5 in=0.008
BAAI/bge-large-en-v1.5 in=0.016
ByteDance-Seed/SeedEdit image.default.default=0.0003
ByteDance-Seed/Seedream-3.0 image.default.default=0.00018
ByteDance-Seed/Seedream-4.0 image.default.default=0.0003
ByteDance/Seedance-1.0-lite unit.video_seconds=0.00028 unit.default_duration_seconds=0.05 unit.default_sample_count=0.01
ByteDance/Seedance-1.0-pro unit.video_seconds=0.00114 unit.default_duration_seconds=0.05 unit.default_sample_count=0.01
DiscoResearch/DiscoLM-mixtral-8x7b-v2 in=0.6 out=0.6
EleutherAI/llemma_7b in=0.2 out=0.2
Gryphe/MythoMax-L2-13b in=0.3 out=0.3
HiDream-ai/HiDream-I1-Dev image.default.default=0.000045
HiDream-ai/HiDream-I1-Fast image.default.default=0.000032
HiDream-ai/HiDream-I1-Full image.default.default=0.00009
Lykon/DreamShaper image.default.default=0.000006
Meta-Llama/Llama-Guard-7b in=0.2 out=0.2
MiniMaxAI/MiniMax-M2.5 in=0.3 out=1.2
MiniMaxAI/MiniMax-M2.7 in=0.3 out=1.2 read=0.06
Nexusflow/NexusRaven-V2-13B in=0.3 out=0.3
NousResearch/Nous-Capybara-7B-V1p9 in=0.2 out=0.2
NousResearch/Nous-Hermes-Llama2-13b in=0.3 out=0.3
NousResearch/Nous-Hermes-llama-2-7b in=0.2 out=0.2
NumbersStation/nsql-llama-2-7B in=0.2 out=0.2
Open-Orca/Mistral-7B-OpenOrca in=0.2 out=0.2
Phind/Phind-CodeLlama-34B-Python-v1 in=0.8 out=0.8
Phind/Phind-CodeLlama-34B-v2 in=0.8 out=0.8
Qwen/QwQ-32B in=1.2 out=1.2
Qwen/Qwen-Image image.default.default=0.000058
Qwen/Qwen-Image-Edit image.default.default=0.000032
Qwen/Qwen2.5-72B-Instruct-Turbo in=1.2 out=1.2
Qwen/Qwen2.5-7B-Instruct-Turbo in=0.3 out=0.3
Qwen/Qwen2.5-Coder-32B-Instruct in=0.8 out=0.8
Qwen/Qwen2.5-VL-72B-Instruct in=1.95 out=8
Qwen/Qwen3-235B-A22B-Instruct-2507-tput in=0.2 out=0.6
Qwen/Qwen3-235B-A22B-Thinking-2507 in=0.65 out=3
Qwen/Qwen3-235B-A22B-fp8-tput in=0.2 out=0.6
Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8 in=2 out=2
Qwen/Qwen3.5-397B-A17B in=6 out=36
Qwen/Qwen3.5-9B in=1 out=1.5
Qwen/Qwen3.6-Plus in=0.5 out=3
Qwen/Qwen3.7-Max in=1.25 out=3.75
RunDiffusion/Juggernaut-pro-flux image.default.default=0.000049
Rundiffusion/Juggernaut-Lightning-Flux image.default.default=0.000017
WhereIsAI/UAE-Large-V1 in=0.016
WizardLM/WizardCoder-Python-34B-V1.0 in=0.8 out=0.8
WizardLM/WizardLM-13B-V1.2 in=0.2 out=0.2
WizardLM/WizardLM-70B-V1.0 in=0.9 out=0.9
arcee-ai/coder-large in=0.5 out=0.8
arcee-ai/maestro-reasoning in=0.9 out=3.3
arcee-ai/virtuoso-large in=0.75 out=1.2
bert-base-uncased in=0.008
black-forest-labs/FLUX.1-Canny-pro image.default.default=0.0005
black-forest-labs/FLUX.1-dev unit.megapixels=0.00025 unit.default_steps=0.28
black-forest-labs/FLUX.1-kontext-dev unit.megapixels=0.00025 unit.default_steps=0.28
black-forest-labs/FLUX.1-kontext-max unit.megapixels=0.0008 unit.default_steps=0.28
black-forest-labs/FLUX.1-kontext-pro unit.megapixels=0.0004 unit.default_steps=0.28
black-forest-labs/FLUX.1-krea-dev unit.megapixels=0.00025 unit.default_steps=0.28
black-forest-labs/FLUX.1-pro unit.megapixels=0.0005 unit.default_steps=0.28
black-forest-labs/FLUX.1-schnell unit.megapixels=0.000027 unit.default_steps=0.04
black-forest-labs/FLUX.1.1-pro image.default.default=0.0004
databricks/dbrx-instruct in=1.2 out=1.2
deepcogito/cogito-v2-preview-deepseek-671b in=1.25 out=1.25
deepcogito/cogito-v2-preview-llama-109B-MoE in=0.18 out=0.59
deepcogito/cogito-v2-preview-llama-405B in=3.5 out=3.5
deepcogito/cogito-v2-preview-llama-70B in=0.88 out=0.88
deepseek-ai/DeepSeek-R1 in=3 out=7
deepseek-ai/DeepSeek-R1-0528-tput in=0.55 out=2.19
deepseek-ai/DeepSeek-R1-Distill-Llama-70B in=2 out=2
deepseek-ai/DeepSeek-R1-Distill-Qwen-14B in=0.18 out=0.18
deepseek-ai/DeepSeek-V3 in=1.25 out=1.25
deepseek-ai/DeepSeek-V3.1 in=0.6 out=1.7
deepseek-ai/DeepSeek-V4-Pro in=2.1 out=4.4 read=0.2
deepseek-ai/deepseek-llm-67b-chat in=0.9 out=0.9
garage-bAInd/Platypus2-70B-instruct in=0.9 out=0.9
google/flash-image-2.5 image.default.default=0.000039
google/gemma-3n-E4B-it in=0.02 out=0.04
google/imagen-4.0-fast image.default.default=0.0002
google/imagen-4.0-preview image.default.default=0.0004
google/imagen-4.0-ultra image.default.default=0.0006
huggyllama/llama-65b in=0.9 out=0.9
ideogram/ideogram-3.0 image.default.default=0.0006
kwaivgI/kling-2.1-pro unit.video_seconds=0.00064 unit.default_duration_seconds=0.05 unit.default_sample_count=0.01
lmsys/vicuna-13b-v1.5 in=0.3 out=0.3
lmsys/vicuna-13b-v1.5-16k in=0.3 out=0.3
marin-community/marin-8b-instruct in=0.18 out=0.18
meta-llama/Llama-2-7b-chat-hf in=0.2 out=0.2
meta-llama/Llama-3-70b-chat-hf in=0.9 out=0.9
meta-llama/Llama-3-8b-chat-hf in=0.2 out=0.2
meta-llama/Llama-3.2-11B-Vision-Instruct-Turbo in=0.18 out=0.18
meta-llama/Llama-3.2-3B-Instruct-Turbo in=0.06 out=0.06
meta-llama/Llama-3.2-90B-Vision-Instruct-Turbo in=1.2 out=1.2
meta-llama/Llama-3.3-70B-Instruct-Turbo in=0.88 out=0.88
meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 in=0.27 out=0.85
meta-llama/Llama-4-Scout-17B-16E-Instruct in=0.18 out=0.59
meta-llama/Meta-Llama-3-8B-Instruct-Lite in=0.1 out=0.1
meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo in=3.5 out=3.5
meta-llama/Meta-Llama-3.1-70B-Instruct-Reference in=0.9 out=0.9
meta-llama/Meta-Llama-3.1-70B-Instruct-Turbo in=0.88 out=0.88
meta-llama/Meta-Llama-3.1-70B-Reference in=0.9 out=0.9
meta-llama/Meta-Llama-3.1-8B-Instruct-Reference in=0.2 out=0.2
meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo in=0.18 out=0.18
meta-llama/Meta-Llama-3.1-8B-Reference in=0.2 out=0.2
minimax/hailuo-02 unit.video_seconds=0.00049 unit.default_duration_seconds=0.1 unit.default_sample_count=0.01
minimax/video-01-director unit.video_seconds=0.00028 unit.default_duration_seconds=0.05 unit.default_sample_count=0.01
mistralai/Mistral-7B-Instruct-v0.1 in=0.2 out=0.2
mistralai/Mistral-7B-Instruct-v0.2 in=0.2 out=0.2
mistralai/Mistral-Small-24B-Instruct-2501 in=0.8 out=0.8
mistralai/Mixtral-8x22B in=1.2 out=1.2
mistralai/Mixtral-8x7B-Instruct-v0.1 in=0.6 out=0.6
mistralai/Mixtral-8x7B-v0.1 in=0.6 out=0.6
moonshot-ai/kimi-k2-instruct in=1 out=3
moonshot-ai/kimi-k2-instruct-0905 in=1 out=3
moonshot-ai/kimi-k2-thinking in=1.2 out=4
moonshotai/Kimi-K2-Instruct in=1 out=3
moonshotai/Kimi-K2-Instruct-0905 in=1 out=3
moonshotai/Kimi-K2-Thinking in=1.2 out=4
moonshotai/Kimi-K2.5 in=0.5 out=2.8
moonshotai/Kimi-K2.6 in=1.2 out=4.5 read=0.2
moonshotai/Kimi-K2.7-Code in=1.2 out=4.5 read=0.2
openai/gpt-oss-120b in=0.15 out=0.6
openai/gpt-oss-20b in=0.05 out=0.2
openchat/openchat-3.5-1210 in=0.2 out=0.2
pixverse/pixverse-v5 unit.video_seconds=0.0006 unit.default_duration_seconds=0.05 unit.default_sample_count=0.01
sentence-transformers/msmarco-bert-base-dot-v5 in=0.008
stabilityai/stable-diffusion-3-medium image.default.default=0.000019
stabilityai/stable-diffusion-xl-base-1.0 image.default.default=0.000019
teknium/OpenHermes-2-Mistral-7B in=0.2 out=0.2
teknium/OpenHermes-2p5-Mistral-7B in=0.2 out=0.2
togethercomputer/CodeLlama-13b in=0.22 out=0.22
togethercomputer/CodeLlama-13b-Instruct in=0.22 out=0.22
togethercomputer/CodeLlama-13b-Python in=0.22 out=0.22
togethercomputer/CodeLlama-34b in=0.8 out=0.8
togethercomputer/CodeLlama-34b-Instruct in=0.8 out=0.8
togethercomputer/CodeLlama-34b-Python in=0.8 out=0.8
togethercomputer/CodeLlama-7b in=0.2 out=0.2
togethercomputer/CodeLlama-7b-Instruct in=0.2 out=0.2
togethercomputer/CodeLlama-7b-Python in=0.2 out=0.2
togethercomputer/GPT-JT-6B-v1 in=0.2 out=0.2
togethercomputer/GPT-JT-Moderation-6B in=0.2 out=0.2
togethercomputer/GPT-NeoXT-Chat-Base-20B in=0.3 out=0.3
togethercomputer/LLaMA-2-7B-32K in=0.2 out=0.2
togethercomputer/Pythia-Chat-Base-7B-v0.16 in=0.2 out=0.2
togethercomputer/Qwen-7B in=0.2 out=0.2
togethercomputer/Qwen-7B-Chat in=0.2 out=0.2
togethercomputer/RedPajama-INCITE-7B-Base in=0.2 out=0.2
togethercomputer/RedPajama-INCITE-7B-Chat in=0.2 out=0.2
togethercomputer/RedPajama-INCITE-7B-Instruct in=0.2 out=0.2
togethercomputer/RedPajama-INCITE-Base-3B-v1 in=0.1 out=0.1
togethercomputer/RedPajama-INCITE-Chat-3B-v1 in=0.1 out=0.1
togethercomputer/RedPajama-INCITE-Instruct-3B-v1 in=0.1 out=0.1
togethercomputer/StripedHyena-Hessian-7B in=0.2 out=0.2
togethercomputer/StripedHyena-Nous-7B in=0.2 out=0.2
togethercomputer/alpaca-7b in=0.2 out=0.2
togethercomputer/falcon-40b in=0.8 out=0.8
togethercomputer/falcon-40b-instruct in=0.8 out=0.8
togethercomputer/falcon-7b in=0.2 out=0.2
togethercomputer/falcon-7b-instruct in=0.2 out=0.2
togethercomputer/llama-2-13b in=0.22 out=0.22
togethercomputer/llama-2-13b-chat in=0.22 out=0.22
togethercomputer/llama-2-70b in=0.9 out=0.9
togethercomputer/llama-2-70b-chat in=0.9 out=0.9
togethercomputer/llama-2-7b in=0.2 out=0.2
togethercomputer/llama-2-7b-chat in=0.2 out=0.2
togethercomputer/m2-bert-80M-2k-retrieval in=0.008
togethercomputer/m2-bert-80M-32k-retrieval in=0.008
togethercomputer/m2-bert-80M-8k-retrieval in=0.008
upstage/SOLAR-0-70b-16bit in=0.9 out=0.9
upstage/SOLAR-10.7B-Instruct-v1.0 in=0.3 out=0.3
vidu/vidu-q1 unit.video_seconds=0.00044 unit.default_duration_seconds=0.05 unit.default_sample_count=0.01
zai-org/GLM-4.5-Air-FP8 in=0.2 out=1.1
zai-org/GLM-5.2 in=1.4 out=4.4 read=0.26
zero-one-ai/Yi-34B in=0.8 out=0.8
zero-one-ai/Yi-34B-Chat in=0.8 out=0.8
zero-one-ai/Yi-6B in=0.14 out=0.14
# vertex-ai
anthropic.claude-fable-5 in=10 out=50 read=1 write=12.5 batch.in=5 batch.out=25 unit.cache_write_1h=0.00002
anthropic.claude-opus-4-6 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
anthropic.claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
anthropic.claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
anthropic.claude-opus-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001
anthropic.claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004
chirp-3-hd in=30
claude-3-5-haiku@20241022 in=0.8 out=4 read=0.08 write=1 batch.in=0.4 batch.out=2 unit.cache_write_1h=0.0000016 unit.web_search=0.01
claude-3-5-sonnet-v2@20241022 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-5-sonnet@20240620 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-7-sonnet-v2@20250219 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-7-sonnet@20250219 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-3-haiku@20240307 in=0.25 out=1.25 read=0.03 write=0.3 batch.in=0.125 batch.out=0.625 unit.cache_write_1h=0.0000005
claude-3-opus@20240229 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003
claude-3-sonnet@20240229 in=3 out=15 batch.in=1.5 batch.out=7.5
claude-fable-5 in=10 out=50 read=1 write=12.5 batch.in=5 batch.out=25 unit.cache_write_1h=0.00002 unit.web_search=0.01
claude-haiku-4-5 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002 unit.web_search=0.01
claude-haiku-4-5-20251001 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002 unit.web_search=0.01
claude-haiku-4-5@20251001 in=1 out=5 read=0.1 write=1.25 batch.in=0.5 batch.out=2.5 unit.cache_write_1h=0.000002 unit.web_search=0.01
claude-opus-4-1-20250805 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-1@20250805 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-20250514 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-4-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-5-20251101 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-5@20251101 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-6 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-7 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4-8 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-opus-4@20250514 in=15 out=75 read=1.5 write=18.75 batch.in=7.5 batch.out=37.5 unit.cache_write_1h=0.00003 unit.web_search=0.01
claude-opus-5 in=5 out=25 read=0.5 write=6.25 batch.in=2.5 batch.out=12.5 unit.cache_write_1h=0.00001 unit.web_search=0.01
claude-sonnet-4-20250514-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-20250514-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-5-20250929-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-5-20250929-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-5-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-5-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-5@20250929-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-5@20250929-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-6 in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-4@20250514-gt-200k in=6 out=22.5 read=0.6 write=7.5 batch.in=3 batch.out=11.25 unit.cache_write_1h=0.000012 unit.web_search=0.01
claude-sonnet-4@20250514-lte-200k in=3 out=15 read=0.3 write=3.75 batch.in=1.5 batch.out=7.5 unit.cache_write_1h=0.000006 unit.web_search=0.01
claude-sonnet-5 in=2 out=10 read=0.2 write=2.5 batch.in=1 batch.out=5 unit.cache_write_1h=0.000004 unit.web_search=0.01
codestral-2 in=0.3 out=0.9
deepseek-r1-0528-maas in=1.35 out=5.4 batch.in=0.675 batch.out=2.7
deepseek-v3.1-maas in=0.6 out=1.7 read=0.06 batch.in=0.3 batch.out=0.85
deepseek-v3.2-maas in=0.56 out=1.68 read=0.056 batch.in=0.28 batch.out=0.84
gemini-1.0-pro in=0.5 out=1.5 batch.in=0.25 batch.out=0.75 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.0-pro-001 in=0.5 out=1.5 batch.in=0.25 batch.out=0.75 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.0-pro-002 in=0.5 out=1.5 batch.in=0.25 batch.out=0.75 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.0-pro-vision in=0.5 out=1.5 batch.in=0.25 batch.out=0.75 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.0-pro-vision-001 in=0.5 out=1.5 batch.in=0.25 batch.out=0.75 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-flash-001 in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-flash-002 in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-flash-preview-0514 in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-pro-001 in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-pro-002 in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-pro-002-batchx in=1.25 out=5 batch.in=0.625 batch.out=2.5
gemini-1.5-pro-preview-0409 in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-pro-preview-0514 in=1.25 out=5 batch.in=0.625 batch.out=2.5 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-1.5-vision in=10 out=30 batch.in=5 batch.out=15 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-2.0-flash in=0.15 out=0.6 audio-in=1 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.0-flash-001 in=0.15 out=0.6 audio-in=1 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.0-flash-exp in=0.15 out=0.6 batch.in=0.075 batch.out=0.3
gemini-2.0-flash-exp-001 in=0.15 out=0.6 batch.in=0.075 batch.out=0.3
gemini-2.0-flash-lite in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-2.0-flash-lite-001 in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.0-flash-lite-preview-02-05 in=0.075 out=0.3 batch.in=0.0375 batch.out=0.15 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-2.0-flash-preview-image-generation in=0.15 out=0.6 batch.in=0.075 batch.out=0.3
gemini-2.5-computer-use-preview-10-2025-gt-200k in=2.5 out=15 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-computer-use-preview-10-2025-lte-200k in=1.25 out=10 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-flash in=0.3 out=2.5 read=0.03 audio-in=1 audio-read=0.1 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.image_token=0.00003 unit.maps=0.025
gemini-2.5-flash-image in=0.3 out=2.5 read=0.03 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.image_token=0.00003 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-flash-image-preview in=0.3 out=2.5 read=0.03 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.image_token=0.00003 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-flash-lite in=0.1 out=0.4 read=0.01 audio-in=0.3 audio-read=0.03 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-flash-lite-preview-06-17 in=0.1 out=0.4 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-2.5-flash-lite-preview-09-2025 in=0.1 out=0.4 read=0.01 audio-in=0.3 audio-read=0.03 batch.in=0.05 batch.out=0.2 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-flash-lite-preview-tts in=0.5 out=10
gemini-2.5-flash-preview-04-17 in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-2.5-flash-preview-05-20 in=0.15 out=0.6 batch.in=0.075 batch.out=0.3 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-2.5-flash-preview-09-2025 in=0.3 out=2.5 read=0.03 audio-in=1 audio-read=0.1 batch.in=0.15 batch.out=1.25 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.image_token=0.00003 unit.maps=0.025
gemini-2.5-flash-tts in=0.5 out=10
gemini-2.5-pro-gt-200k in=2.5 out=15 read=0.25 batch.in=1.25 batch.out=7.5 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-pro-lte-200k in=1.25 out=10 read=0.125 batch.in=0.625 batch.out=5 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-pro-preview-03-25-gt-200k in=2.5 out=15 batch.in=1.25 batch.out=7.5 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-pro-preview-03-25-lte-200k in=1.25 out=10 batch.in=0.625 batch.out=5 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-pro-preview-05-06-gt-200k in=2.5 out=15 batch.in=1.25 batch.out=7.5 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-pro-preview-05-06-lte-200k in=1.25 out=10 batch.in=0.625 batch.out=5 unit.web_search=0.035 unit.search=0.035 unit.enterprise_web_search=0.045 unit.maps=0.025
gemini-2.5-pro-tts in=1 out=20
gemini-3-flash-preview in=0.5 out=3 read=0.05 write=0.5 audio-in=1 audio-read=0.1 batch.in=0.25 batch.out=1.5 unit.web_search=0.014 unit.search=0.014 unit.maps=0.014
gemini-3-pro-image in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.image_token=0.00012 unit.search=0.014 unit.maps=0.014
gemini-3-pro-image-preview in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.image_token=0.00012 unit.search=0.014 unit.maps=0.014
gemini-3-pro-preview-02-05-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-3-pro-preview-02-05-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-3-pro-preview-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.014 unit.search=0.014 unit.enterprise_web_search=0.014 unit.image_token=0.00012 unit.maps=0.014
gemini-3-pro-preview-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.search=0.014 unit.enterprise_web_search=0.014 unit.image_token=0.00012 unit.maps=0.014
gemini-3.1-flash-image in=0.5 out=3 batch.in=0.25 batch.out=1.5 unit.image_token=0.00006 unit.web_search=0.014 unit.search=0.014 unit.maps=0.014
gemini-3.1-flash-image-preview in=0.5 out=3 batch.in=0.25 batch.out=1.5 unit.image_token=0.00006 unit.web_search=0.014 unit.search=0.014 unit.maps=0.014
gemini-3.1-flash-lite in=0.25 out=1.5 read=0.025 write=0.25 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014 unit.maps=0.014
gemini-3.1-flash-lite-image in=0.25 out=1.5 batch.in=0.125 batch.out=0.75 unit.image_token=0.00003
gemini-3.1-flash-lite-preview in=0.25 out=1.5 read=0.025 write=0.25 audio-in=0.5 audio-read=0.05 batch.in=0.125 batch.out=0.75 unit.web_search=0.014 unit.search=0.014 unit.maps=0.014
gemini-3.1-flash-tts in=1 out=20
gemini-3.1-pro-preview-customtools-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-3.1-pro-preview-customtools-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.035 unit.search=0.035 unit.maps=0.025
gemini-3.1-pro-preview-gt-200k in=4 out=18 read=0.4 batch.in=2 batch.out=9 unit.web_search=0.014 unit.search=0.014 unit.image_token=0.00012 unit.maps=0.014
gemini-3.1-pro-preview-lte-200k in=2 out=12 read=0.2 batch.in=1 batch.out=6 unit.web_search=0.014 unit.search=0.014 unit.image_token=0.00012 unit.maps=0.014
gemini-3.5-flash in=1.5 out=9 read=0.15 write=1.5 batch.in=0.75 batch.out=4.5 unit.web_search=0.014 unit.search=0.014 unit.enterprise_web_search=0.014 unit.maps=0.014
gemini-3.5-flash-lite in=0.3 out=2.5 read=0.03 write=0.3 batch.in=0.15 batch.out=1.25 unit.web_search=0.014 unit.search=0.014 unit.maps=0.014
gemini-3.6-flash in=1.5 out=7.5 read=0.15 write=1.5 batch.in=0.75 batch.out=3.75 unit.web_search=0.014 unit.search=0.014 unit.enterprise_web_search=0.014 unit.maps=0.014
gemini-3.7-flash in=1.5 out=7.5 read=0.15 write=1.5 batch.in=0.75 batch.out=3.75 unit.web_search=0.014 unit.search=0.014 unit.enterprise_web_search=0.014 unit.maps=0.014
gemini-embedding-001 in=0.15 batch.in=0.12
gemini-embedding-2 in=0.2
gemini-embedding-2-preview in=0.2
gemini-omni-flash-preview in=1.5 out=9 unit.output_video_token=0.0000175
gemma-4-26b-a4b-it-maas in=0.15 out=0.6 read=0.015
glm-4.7-maas in=0.6 out=2.2
glm-5-maas in=1 out=3.2 read=0.1
gpt-oss-120b-maas in=0.09 out=0.36 batch.in=0.045 batch.out=0.18
grok-4.3 in=1.25 out=2.5 read=0.2
imagegeneration@002 image.default.default=0.02
imagegeneration@005 image.default.default=0.02
imagegeneration@006 image.default.default=0.02
imagen-3.0-capability-001 image.default.default=0.04
imagen-3.0-capability-002 image.default.default=0.04
imagen-3.0-fast-generate-001 image.default.default=0.02
imagen-3.0-generate-001 image.default.default=0.04
imagen-3.0-generate-002 image.default.default=0.04
imagen-4.0-fast-generate-001 image.default.default=0.02
imagen-4.0-fast-generate-preview-06-06 image.default.default=0.02
imagen-4.0-generate-001 image.default.default=0.04
imagen-4.0-generate-preview-05-20 image.default.default=0.04
imagen-4.0-generate-preview-06-06 image.default.default=0.04
imagen-4.0-ultra-generate-001 image.default.default=0.06
imagen-4.0-ultra-generate-preview-05-20 image.default.default=0.06
imagen-4.0-ultra-generate-preview-06-06 image.default.default=0.06
imagen-product-recontext-preview-06-30 image.default.default=0.12
kimi-k2-thinking-maas in=0.6 out=2.5 read=0.06
llama-3.1-405b-instruct-maas in=5 out=16 batch.in=2.5 batch.out=8
llama-3.3-70b-instruct-maas in=0.72 out=0.72 batch.in=0.36 batch.out=0.36
llama-4-maverick-17b-128e-instruct-maas in=0.35 out=1.15 batch.in=0.175 batch.out=0.575
minimax-m2-maas in=0.3 out=1.2 read=0.03
mistral-medium-3 in=0.4 out=2
mistral-small-2503 in=0.1 out=0.3
multimodalembedding in=0.025 unit.input_image=0.0001 unit.input_video_plus=0.002 unit.input_video_standard=0.001 unit.input_video_essential=0.0005
multimodalembedding@001 out=0.2 batch.out=0.16 unit.input_image=0.0001 unit.input_video_plus=0.002 unit.input_video_standard=0.001 unit.input_video_essential=0.0005
qwen3-235b-a22b-instruct-2507-maas in=0.22 out=0.88 batch.in=0.11 batch.out=0.44
qwen3-coder-480b-a35b-instruct-maas in=0.22 out=1.8 read=0.022 batch.in=0.11 batch.out=0.9
qwen3-next-80b-a3b-instruct-maas in=0.15 out=1.2
qwen3-next-80b-a3b-thinking-maas in=0.15 out=1.2
semantic-ranker-default in=1000
semantic-ranker-default-002 in=1000
semantic-ranker-default-003 in=1000
semantic-ranker-default-004 in=1000
semantic-ranker-default@latest in=1000
semantic-ranker-fast-004 in=1000
semantic-ranker-fast@latest in=1000
text-embedding in=0.025 batch.in=0.02
text-embedding-004 in=0.1 batch.in=0.08
text-embedding-005 in=0.025 batch.in=0.02
text-embedding-large-exp-03-07 in=0.025
text-embedding-preview-0815 in=0.1 batch.in=0.08
text-multilingual-embedding-002 in=0.025 batch.in=0.02
textembedding-gecko in=0.025 batch.in=0.02
textembedding-gecko-multilingual@001 in=0.1 batch.in=0.08
textembedding-gecko@001 in=0.1 batch.in=0.08
textembedding-gecko@003 in=0.025 batch.in=0.02
veo-2.0-generate-001 unit.video_seconds=0.5 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-2.0-generate-exp unit.video_seconds=0.5 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-2.0-generate-preview unit.video_seconds=0.5 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-fast-generate-001 unit.video_seconds=0.1 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-fast-generate-preview unit.video_seconds=0.2 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-generate-001 unit.video_seconds=0.2 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.0-generate-preview unit.video_seconds=0.2 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-fast-generate-001 unit.video_seconds=0.15 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-fast-generate-preview unit.video_duration_seconds_1280_720=0.1 unit.video_duration_seconds_1920_1080=0.12 unit.video_duration_seconds_3840_2160=0.3 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-generate-001 unit.video_seconds=0.2 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-generate-preview unit.video_duration_seconds_1280_720=0.4 unit.video_duration_seconds_1920_1080=0.4 unit.video_duration_seconds_3840_2160=0.6 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
veo-3.1-lite-generate-preview unit.video_duration_seconds_1280_720=0.05 unit.video_duration_seconds_1920_1080=0.08 unit.default_duration_seconds=0.08 unit.default_sample_count=0.01
# workers-ai
@cf/ai4bharat/indictrans2-en-indic-1B in=0.342 out=0.342
@cf/aisingapore/gemma-sea-lion-v4-27b-it in=0.351 out=0.555
@cf/baai/bge-base-en-v1.5 in=0.067
@cf/baai/bge-large-en-v1.5 in=0.204
@cf/baai/bge-m3 in=0.012
@cf/baai/bge-reranker-base in=0.003
@cf/baai/bge-small-en-v1.5 in=0.02
@cf/deepseek-ai/deepseek-r1-distill-qwen-32b in=0.497 out=4.881
@cf/google/gemma-3-12b-it in=0.345 out=0.556
@cf/google/gemma-4-26b-a4b-it in=0.1 out=0.3
@cf/huggingface/distilbert-sst-2-int8 in=0.026
@cf/ibm-granite/granite-4.0-h-micro in=0.017 out=0.112
@cf/meta/llama-2-7b-chat-fp16 in=0.556 out=6.667
@cf/meta/llama-3-8b-instruct in=0.282 out=0.827
@cf/meta/llama-3-8b-instruct-awq in=0.123 out=0.266
@cf/meta/llama-3.1-70b-instruct-fp8-fast in=0.293 out=2.253
@cf/meta/llama-3.1-8b-instruct in=0.282 out=0.827
@cf/meta/llama-3.1-8b-instruct-awq in=0.123 out=0.266
@cf/meta/llama-3.1-8b-instruct-fp8 in=0.152 out=0.287
@cf/meta/llama-3.1-8b-instruct-fp8-fast in=0.045 out=0.384
@cf/meta/llama-3.2-11b-vision-instruct in=0.049 out=0.676
@cf/meta/llama-3.2-1b-instruct in=0.027 out=0.201
@cf/meta/llama-3.2-3b-instruct in=0.051 out=0.335
@cf/meta/llama-3.3-70b-instruct-fp8-fast in=0.293 out=2.253
@cf/meta/llama-4-scout-17b-16e-instruct in=0.27 out=0.85
@cf/meta/llama-guard-3-8b in=0.484 out=0.03
@cf/meta/m2m100-1.2b in=0.342 out=0.342
@cf/mistral/mistral-7b-instruct-v0.1 in=0.11 out=0.19
@cf/mistralai/mistral-small-3.1-24b-instruct in=0.351 out=0.555
@cf/moondream/moondream3.1-9B-A2B in=0.3 out=1
@cf/moonshotai/kimi-k2.5 in=0.6 out=3 read=0.1
@cf/moonshotai/kimi-k2.6 in=0.95 out=4 read=0.16
@cf/moonshotai/kimi-k2.7-code in=0.95 out=4 read=0.19
@cf/moonshotai/kimi-k3 in=30 out=150 read=3
@cf/nvidia/nemotron-3-120b-a12b in=0.5 out=1.5
@cf/openai/gpt-oss-120b in=0.35 out=0.75
@cf/openai/gpt-oss-20b in=0.2 out=0.3
@cf/pfnet/plamo-embedding-1b in=0.019
@cf/qwen/qwen2.5-coder-32b-instruct in=0.66 out=1
@cf/qwen/qwen3-30b-a3b-fp8 in=0.051 out=0.335
@cf/qwen/qwen3-embedding-0.6b in=0.012
@cf/qwen/qwq-32b in=0.66 out=1
@cf/zai-org/glm-4.7-flash in=0.06 out=0.4
@cf/zai-org/glm-5.2 in=1.4 out=4.4 read=0.26
# x-ai
grok-2 in=2 out=10 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-2-1212 in=2 out=10 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-2-latest in=2 out=10 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-2-vision in=2 out=10 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-2-vision-1212 in=2 out=10 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-2-vision-latest in=2 out=10 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3 in=3 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-beta in=3 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-fast in=3 out=15 read=0.75 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-fast-beta in=3 out=15 read=0.75 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-fast-latest in=3 out=15 read=0.75 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-latest in=3 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-mini in=0.3 out=0.5 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-mini-beta in=0.3 out=0.5 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-mini-fast in=0.3 out=0.5 read=0.075 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-mini-fast-beta in=0.3 out=0.5 read=0.075 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-mini-fast-latest in=0.3 out=0.5 read=0.075 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-3-mini-latest in=0.3 out=0.5 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4 in=3 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-0709 in=3 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-1-fast in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-1-fast-non-reasoning in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-1-fast-non-reasoning-latest in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-1-fast-reasoning in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-1-fast-reasoning-latest in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-fast in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-fast-non-reasoning in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-fast-non-reasoning-latest in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-fast-reasoning in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-fast-reasoning-latest in=0.2 out=0.5 read=0.05 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4-latest in=3 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-non-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-non-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-reasoning-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-reasoning-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-0309-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-non-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-non-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-reasoning-exp-sa-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-reasoning-exp-sa-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-0309-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-latest-non-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-latest-non-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-latest-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-latest-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-non-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-non-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-beta-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-0304-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-0304-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-0304-non-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-0304-non-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-0304-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-0304-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-non-reasoning-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-non-reasoning-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-reasoning-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-experimental-beta-reasoning-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-0309-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-0309-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-beta-0309-exp-ma-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-beta-0309-exp-ma-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-beta-0309-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-beta-0309-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-beta-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-beta-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-experimental-beta-0304-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-experimental-beta-0304-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-experimental-beta-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-experimental-beta-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-multi-agent-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-non-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-non-reasoning-gv2-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-non-reasoning-gv2-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-non-reasoning-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-non-reasoning-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-non-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-reasoning-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-reasoning-gv2-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-reasoning-gv2-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-reasoning-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-reasoning-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.20-reasoning-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.3-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.3-latest-gt-200k in=2.5 out=5 read=0.4 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.3-latest-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.3-lte-200k in=1.25 out=2.5 read=0.2 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.5-gt-200k in=4 out=12 read=0.6 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.5-latest-gt-200k in=4 out=12 read=0.6 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.5-latest-lte-200k in=2 out=6 read=0.3 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.5-lte-200k in=2 out=6 read=0.3 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.6-gt-200k in=4 out=12 read=1 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-4.6-lte-200k in=2 out=6 read=0.5 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-beta in=5 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-build-latest in=2 out=6 read=0.3 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-code-fast in=0.2 out=1.5 read=0.02 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-code-fast-1 in=0.2 out=1.5 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-code-fast-1-0825 in=0.2 out=1.5 read=0.02 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
grok-vision-beta in=5 out=15 unit.web_search=0.005 unit.x_search=0.005 unit.code_execution=0.005 unit.attachment_search=0.01 unit.file_search=0.0025
# z-ai
glm-4-32b-0414-128k in=0.1 out=0.1
glm-4.5 in=0.6 out=2.2 read=0.11
glm-4.5-air in=0.2 out=1.1 read=0.03
glm-4.5-airx in=1.1 out=4.5 read=0.22
glm-4.5-x in=2.2 out=8.9 read=0.45
glm-4.5v in=0.6 out=1.8 read=0.11
glm-4.6 in=0.6 out=2.2 read=0.11
glm-4.6v in=0.3 out=0.9 read=0.05
glm-4.7 in=0.6 out=2.2 read=0.11
glm-4.7-flashx in=0.07 out=0.4 read=0.01
glm-5 in=1 out=3.2 read=0.2
glm-5-code in=1.2 out=5 read=0.3
glm-5-turbo in=1.2 out=4 read=0.24
glm-5.1 in=1.4 out=4.4 read=0.26
glm-5.2 in=1.4 out=4.4 read=0.26
# zhipu
glm-4-32b-0414-128k in=0.1 out=0.1
glm-4.5 in=0.6 out=2.2 read=0.11
glm-4.5-air in=0.2 out=1.1 read=0.03
glm-4.5-airx in=1.1 out=4.5 read=0.22
glm-4.5-x in=2.2 out=8.9 read=0.45
glm-4.5v in=0.6 out=1.8 read=0.11
glm-4.6 in=0.6 out=2.2 read=0.11
glm-4.7 in=0.6 out=2.2 read=0.11
glm-4.7-flashx in=0.07 out=0.4 read=0.01
glm-5 in=1 out=3.2 read=0.2
glm-5-code in=1.2 out=5 read=0.3
glm-5-turbo in=1.2 out=4 read=0.24
glm-5.1 in=1.4 out=4.4 read=0.26
glm-5.2 in=1.4 out=4.4 read=0.26
`;
