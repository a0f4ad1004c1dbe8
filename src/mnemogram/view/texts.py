# SPDX-License-Identifier: MIT
"""Every word of the interface, in one table: English, Chinese, Japanese, Korean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["LANGUAGES", "TEXTS", "chosen_language", "text"]

#: Tags of the languages, in the order of the columns, and their own names.
LANGUAGES: Final[Mapping[str, str]] = {
    "en": "English",
    "zh": "中文",
    "ja": "日本語",
    "ko": "한국어",
}

TEXTS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    # -- the frame
    "memory_of": ("Memory of {user}", "{user} 的记忆", "{user} の記憶", "{user}의 기억"),
    "skip": ("Skip to the content", "跳到内容", "本文へ移動", "본문으로 이동"),
    "sections": ("Sections", "栏目", "セクション", "섹션"),
    "search": ("Search", "搜索", "検索", "검색"),
    "scenes": ("Scenes", "场景", "場面", "장면"),
    "state": ("State", "状态", "状態", "상태"),
    "delete": ("Delete", "删除", "削除", "삭제"),
    "user": ("User", "用户", "ユーザー", "사용자"),
    "user_hint": (
        "The id that your program gives; ids are not kept, so they cannot be listed.",
        "你的程序所用的用户标识；标识本身不被保存，因此无法列出。",
        "あなたのプログラムが使う ID。ID そのものは保存されないため、一覧にはできません。",
        "프로그램이 쓰는 아이디입니다. 아이디 자체는 저장되지 않으므로 나열할 수 없습니다.",
    ),
    "language": ("Language", "语言", "言語", "언어"),
    "go": ("Go", "前往", "移動", "이동"),
    "read_only": ("Read-only", "只读", "読み取り専用", "읽기 전용"),
    "back": ("Back", "返回", "戻る", "뒤로"),
    # -- search
    "search_label": (
        "Search all conversations",
        "搜索全部对话",
        "すべての会話を検索",
        "모든 대화 검색",
    ),
    "search_placeholder": (
        "Words, a “phrase”, AND OR NOT",
        "词语、“短语”、AND OR NOT",
        "語句、“フレーズ”、AND OR NOT",
        "단어, “구절”, AND OR NOT",
    ),
    "keys": (
        "/ search · ↑ ↓ choose · Enter open · Esc back",
        "/ 搜索 · ↑ ↓ 选择 · Enter 打开 · Esc 返回",
        "/ 検索 · ↑ ↓ 選択 · Enter 開く · Esc 戻る",
        "/ 검색 · ↑ ↓ 선택 · Enter 열기 · Esc 뒤로",
    ),
    "filters": ("Filters", "筛选", "絞り込み", "필터"),
    "who": ("Who", "谁说的", "発言者", "말한 이"),
    "role_user": ("user", "用户", "ユーザー", "사용자"),
    "role_assistant": ("assistant", "助手", "アシスタント", "어시스턴트"),
    "role_tool": ("tool", "工具", "ツール", "도구"),
    "program": ("Program", "程序", "プログラム", "프로그램"),
    "all_programs": (
        "all of them, background work too",
        "全部，包括后台任务",
        "すべて（バックグラウンドも）",
        "모두 (백그라운드 포함)",
    ),
    "from_day": ("From", "从", "開始日", "시작일"),
    "to_day": ("To", "到", "終了日", "종료일"),
    "sort": ("Order", "排序", "並べ替え", "정렬"),
    "sort_relevance": ("best first", "最相关优先", "関連度順", "관련도순"),
    "sort_newest": ("newest first", "最新优先", "新しい順", "최신순"),
    "sort_oldest": ("oldest first", "最早优先", "古い順", "오래된순"),
    "over_time": ("Messages over time", "消息随时间分布", "メッセージの推移", "시간별 메시지"),
    "over_time_hint": (
        "Drag over the bars, or choose one, to search that period.",
        "在柱形上拖动或点选一根，即可搜索该时段。",
        "棒をドラッグするか選ぶと、その期間を検索します。",
        "막대를 끌거나 선택하면 그 기간을 검색합니다.",
    ),
    "whenever": ("any time", "不限时间", "全期間", "전체 기간"),
    "bar": (
        "{when}: {count} messages",
        "{when}：{count} 条消息",
        "{when}: {count} 件",
        "{when}: 메시지 {count}개",
    ),
    "found": (
        "{count} conversations",
        "{count} 个对话",
        "会話 {count} 件",
        "대화 {count}개",
    ),
    "found_more": (
        "{count} conversations, and more",
        "{count} 个对话，还有更多",
        "会話 {count} 件、ほかにもあります",
        "대화 {count}개, 더 있음",
    ),
    "nothing": ("Nothing found.", "没有找到。", "見つかりませんでした。", "찾지 못했습니다."),
    "recent": ("Latest conversations", "最近的对话", "最近の会話", "최근 대화"),
    "more": ("More", "更多", "さらに表示", "더 보기"),
    "incomplete": (
        "Not everything could be looked at.",
        "未能查看全部内容。",
        "すべてを調べることはできませんでした。",
        "모두 살펴보지는 못했습니다.",
    ),
    "partial": ("parts of it", "部分匹配", "一部一致", "일부 일치"),
    "route_cjk": ("by the index", "通过索引", "索引から", "색인에서"),
    "route_or": (
        "by the index, parts",
        "通过索引，部分词语",
        "索引から（一部）",
        "색인에서 (일부)",
    ),
    "route_trigram": ("inside words", "词内匹配", "単語の中", "단어 속"),
    "route_like": ("by reading", "逐条阅读", "本文を走査", "본문을 읽어서"),
    "route_title": ("by the title", "通过标题", "題名から", "제목에서"),
    "route_empty": ("nothing to look for", "没有可查的词", "検索語なし", "찾을 말이 없음"),
    "took": ("{ms} ms", "{ms} 毫秒", "{ms} ミリ秒", "{ms}ms"),
    "no_time": ("no time", "无时间", "時刻なし", "시각 없음"),
    "untitled": ("Untitled conversation", "无标题对话", "無題の会話", "제목 없는 대화"),
    "messages_count": ("{count} messages", "{count} 条消息", "{count} 件", "메시지 {count}개"),
    # -- a conversation
    "conversation": ("Conversation", "对话", "会話", "대화"),
    "earlier": ("Earlier messages", "更早的消息", "前のメッセージ", "이전 메시지"),
    "later": ("Later messages", "之后的消息", "次のメッセージ", "다음 메시지"),
    "position": (
        "Message {first} to {last} of {count}",
        "第 {first} 至 {last} 条，共 {count} 条",
        "{count} 件中 {first}～{last} 件目",
        "{count}개 중 {first}~{last}번째",
    ),
    "go_to": ("Go to message", "跳到第几条", "何件目へ", "몇 번째로"),
    "first_message": ("Beginning", "开头", "先頭", "처음"),
    "last_message": ("End", "末尾", "末尾", "끝"),
    "call": (
        "Tool call: {name}",
        "工具调用：{name}",
        "ツール呼び出し: {name}",
        "도구 호출: {name}",
    ),
    "result": (
        "Result of {name}",
        "{name} 的结果",
        "{name} の結果",
        "{name}의 결과",
    ),
    "arguments": ("Arguments", "参数", "引数", "인수"),
    "state_compacted": ("compacted", "已压缩", "圧縮済み", "압축됨"),
    "state_rewound": ("undone", "已撤回", "取り消し済み", "취소됨"),
    "state_compacted_hint": (
        "No longer in the model's context; kept as evidence.",
        "已不在模型上下文中，仍作为证据保留。",
        "モデルの文脈からは外れ、証拠として残っています。",
        "모델의 문맥에서는 빠졌고 증거로 남아 있습니다.",
    ),
    "cut": (
        "Shown cut; show all {count} characters",
        "内容已截断；显示全部 {count} 个字符",
        "省略表示中。全 {count} 文字を表示",
        "잘려서 보입니다. 전체 {count}자 보기",
    ),
    "as_written": ("As written", "原文", "原文", "원문"),
    "copy_link": ("Copy link", "复制链接", "リンクをコピー", "링크 복사"),
    "copied": ("Copied", "已复制", "コピーしました", "복사됨"),
    "export": ("Export", "导出", "書き出し", "내보내기"),
    "export_jsonl": ("JSON lines", "JSON 行", "JSON Lines", "JSON Lines"),
    "export_md": ("Markdown", "Markdown", "Markdown", "Markdown"),
    "export_txt": ("Text", "纯文本", "テキスト", "텍스트"),
    "continues": ("Continues", "接续自", "前の会話", "이어받은 대화"),
    "continued_by": ("Continued by", "后续对话", "続きの会話", "이어지는 대화"),
    "ended": ("Ended: {reason}", "结束原因：{reason}", "終了: {reason}", "종료: {reason}"),
    "empty_conversation": (
        "No message of it is left to show.",
        "没有可显示的消息。",
        "表示できるメッセージがありません。",
        "보여 줄 메시지가 없습니다.",
    ),
    # -- scene memory
    "scene_tree": ("Situations", "情境", "状況", "상황"),
    "scene_counts": (
        "{relations} remembered",
        "{relations} 条记忆",
        "記憶 {relations} 件",
        "기억 {relations}개",
    ),
    "no_memory": (
        "Nothing is remembered in scenes yet.",
        "场景记忆尚无内容。",
        "場面の記憶はまだありません。",
        "장면 기억이 아직 없습니다.",
    ),
    "everything": ("Everything", "全部", "すべて", "전체"),
    "latest_told": ("Told last", "最近记下的", "最近の記憶", "최근에 기억한 것"),
    "what_comes": (
        "What would come back",
        "会想起什么",
        "何が思い出されるか",
        "무엇이 떠오르는가",
    ),
    "message": ("Message", "消息", "メッセージ", "메시지"),
    "scene_keys": (
        "Situations, one a line",
        "情境，每行一个",
        "状況（1 行に 1 つ）",
        "상황 (한 줄에 하나)",
    ),
    "explain": ("Show", "查看", "表示", "보기"),
    "why": ("Why", "原因", "理由", "이유"),
    "authority": ("Standing", "效力", "扱い", "효력"),
    "authority_rule": (
        "rule, to be followed",
        "规则，须遵守",
        "規則（従う）",
        "규칙 (따름)",
    ),
    "authority_unconfirmed": (
        "rule, not confirmed",
        "规则，未确认",
        "規則（未確認）",
        "규칙 (미확인)",
    ),
    "authority_memory": ("memory", "记忆", "記憶", "기억"),
    "authority_document": ("from a document", "来自文档", "文書から", "문서에서"),
    "topic": ("On the topic", "相关话题", "関連する話題", "관련 주제"),
    "as_the_model_sees": (
        "As the model sees it",
        "模型看到的文本",
        "モデルが見る文面",
        "모델이 보는 글",
    ),
    "remembered": ("Remembered", "记忆内容", "記憶", "기억"),
    "kind": ("Kind", "类型", "種類", "종류"),
    "kind_fact": ("fact", "事实", "事実", "사실"),
    "kind_preference": ("preference", "偏好", "好み", "선호"),
    "kind_rule": ("rule", "规则", "規則", "규칙"),
    "trust": ("Trust", "可信度", "信頼", "신뢰"),
    "trust_confirmed": ("confirmed", "已确认", "確認済み", "확인됨"),
    "trust_observed": ("observed", "观察所得", "観察", "관찰됨"),
    "trust_document": ("document", "文档", "文書", "문서"),
    "weight": ("Weight", "权重", "重み", "가중치"),
    "sentence": ("Sentence", "原句", "元の文", "원문 문장"),
    "scene": ("Situation", "情境", "状況", "상황"),
    "told": ("Told", "时间", "記憶日時", "기억한 때"),
    "edit": ("Edit", "编辑", "編集", "편집"),
    "save": ("Save", "保存", "保存", "저장"),
    "saved": ("Saved.", "已保存。", "保存しました。", "저장했습니다."),
    "forget": ("Forget", "忘记", "忘れる", "잊기"),
    "forget_scene": (
        "Forget this situation",
        "忘记此情境",
        "この状況を忘れる",
        "이 상황 잊기",
    ),
    "would_forget": (
        "{count} would be forgotten, for good:",
        "将永久忘记 {count} 条：",
        "{count} 件が完全に忘れられます：",
        "{count}개를 영구히 잊습니다:",
    ),
    "forgotten": (
        "{count} forgotten.",
        "已忘记 {count} 条。",
        "{count} 件を忘れました。",
        "{count}개를 잊었습니다.",
    ),
    # -- state
    "conversations": ("Conversations", "对话", "会話", "대화"),
    "messages": ("Messages", "消息", "メッセージ", "메시지"),
    "file": ("File", "文件", "ファイル", "파일"),
    "size": ("Size", "大小", "サイズ", "크기"),
    "indexes": ("Indexes", "索引", "索引", "색인"),
    "name": ("Name", "名称", "名前", "이름"),
    "index_ready": ("ready", "就绪", "準備完了", "준비됨"),
    "index_building": ("being built", "构建中", "構築中", "구축 중"),
    "index_detached": ("out of use", "停用", "使用停止", "사용 중지"),
    "index_absent": ("not kept", "未保留", "なし", "없음"),
    "progress": ("{done} of {total}", "{done} / {total}", "{done} / {total}", "{done} / {total}"),
    "by_program": ("By program", "按程序", "プログラム別", "프로그램별"),
    "notes": ("Notes", "说明", "注記", "참고"),
    "tokenizer": ("Tokenizer", "分词器", "トークナイザー", "토크나이저"),
    "not_loaded": ("not loaded", "未加载", "読み込めません", "불러오지 못함"),
    "upkeep": ("Upkeep", "维护", "保守", "유지 관리"),
    "upkeep_done": ("nothing is due", "无待办", "作業なし", "할 일 없음"),
    "upkeep_going": ("at work", "进行中", "実行中", "진행 중"),
    "upkeep_off": (
        "off while read-only",
        "只读时关闭",
        "読み取り専用のため停止",
        "읽기 전용이라 꺼짐",
    ),
    "check": ("Check all", "全面检查", "全体を検査", "전체 검사"),
    "check_hint": (
        "Reads the whole file and changes nothing.",
        "读取整个文件，不作任何更改。",
        "ファイル全体を読み、何も変更しません。",
        "파일 전체를 읽으며 아무것도 바꾸지 않습니다.",
    ),
    "check_ok": ("All is well.", "一切正常。", "問題ありません。", "모두 정상입니다."),
    "check_bad": (
        "Something is wrong; `mnemogram repair` says what it would do.",
        "发现问题；`mnemogram repair` 会说明处理方法。",
        "問題があります。`mnemogram repair` が対処を示します。",
        "문제가 있습니다. `mnemogram repair`가 처리 방법을 알려 줍니다.",
    ),
    "scene_memory": ("Scene memory", "场景记忆", "場面の記憶", "장면 기억"),
    "relations": ("Relations", "关系", "関係", "관계"),
    "per_day": ("Messages a day", "每日消息", "1 日のメッセージ", "하루 메시지"),
    "unmeasured": ("not measured in time", "未及测量", "未計測", "측정 못함"),
    # -- deletion
    "delete_conversation": (
        "Delete this conversation",
        "删除此对话",
        "この会話を削除",
        "이 대화 삭제",
    ),
    "delete_period": ("Delete a period", "删除一段时间", "期間を削除", "기간 삭제"),
    "delete_period_hint": (
        "Every conversation in which something was said then goes, whole.",
        "该时段内有发言的每个对话都会被整个删除。",
        "その期間に発言のあった会話は、全体が削除されます。",
        "그 기간에 말이 오간 대화는 통째로 삭제됩니다.",
    ),
    "delete_all": ("Delete everything", "全部删除", "すべて削除", "모두 삭제"),
    "delete_all_hint": (
        "All conversations and the scene memory of this user.",
        "此用户的全部对话和场景记忆。",
        "このユーザーの会話と場面の記憶のすべて。",
        "이 사용자의 모든 대화와 장면 기억.",
    ),
    "preview": ("Show what would go", "查看将删除的内容", "削除対象を表示", "삭제될 것 보기"),
    "would_delete": (
        "{sessions} conversations with {messages} messages would be deleted, for good:",
        "将永久删除 {sessions} 个对话、{messages} 条消息：",
        "会話 {sessions} 件、メッセージ {messages} 件が完全に削除されます：",
        "대화 {sessions}개, 메시지 {messages}개가 영구히 삭제됩니다:",
    ),
    "nothing_to_delete": (
        "There is nothing to delete.",
        "没有可删除的内容。",
        "削除するものはありません。",
        "삭제할 것이 없습니다.",
    ),
    "and_more": ("and {count} more", "以及另外 {count} 个", "ほか {count} 件", "외 {count}개"),
    "also_forget": (
        "Forget also what was learnt from them ({count})",
        "同时忘记从中学到的内容（{count}）",
        "そこから覚えたことも忘れる（{count}）",
        "거기서 배운 것도 잊기 ({count})",
    ),
    "delete_now": ("Delete for good", "永久删除", "完全に削除", "영구 삭제"),
    "changed_meanwhile": (
        "It has changed since you looked: this is what would go now.",
        "内容已有变化：以下是现在将删除的内容。",
        "確認後に変わりました。現在の削除対象です。",
        "그사이 바뀌었습니다. 지금 삭제될 내용입니다.",
    ),
    "deleted": (
        "Deleted: {sessions} conversations with {messages} messages.",
        "已删除：{sessions} 个对话、{messages} 条消息。",
        "削除しました: 会話 {sessions} 件、メッセージ {messages} 件。",
        "삭제됨: 대화 {sessions}개, 메시지 {messages}개.",
    ),
    "purged": (
        "No byte of it is left in the file: {before} before, {after} now.",
        "文件中不再留有任何内容：之前 {before}，现在 {after}。",
        "ファイルには 1 バイトも残っていません: 前 {before}、現在 {after}。",
        "파일에 한 바이트도 남지 않았습니다: 이전 {before}, 현재 {after}.",
    ),
    "not_purged": (
        "Deleted, but the file may still hold bytes of it:",
        "已删除，但文件中可能仍有残留：",
        "削除しましたが、ファイルに残りがあるかもしれません：",
        "삭제했지만 파일에 남은 것이 있을 수 있습니다:",
    ),
    # -- refusals
    "refused": ("Not let in", "无法进入", "入れません", "들어갈 수 없습니다"),
    "refused_cookie": (
        "Open the link that `mnemogram view` printed.",
        "请打开 `mnemogram view` 输出的链接。",
        "`mnemogram view` が表示したリンクを開いてください。",
        "`mnemogram view`가 출력한 링크를 여십시오.",
    ),
    "refused_link": (
        "This link was used already, or is none. Press Enter where `mnemogram view` runs"
        " for another one.",
        "此链接已被使用或无效。请在运行 `mnemogram view` 的终端按 Enter 获取新链接。",
        "このリンクは使用済みか無効です。`mnemogram view` の端末で Enter を押すと"
        "新しいリンクが出ます。",
        "이미 사용했거나 잘못된 링크입니다. `mnemogram view`를 실행한 터미널에서 Enter를 누르면"
        " 새 링크가 나옵니다.",
    ),
    "refused_request": (
        "The request did not come from this page.",
        "请求并非来自本页面。",
        "このページからのリクエストではありません。",
        "이 페이지에서 온 요청이 아닙니다.",
    ),
    "refused_read_only": (
        "The page was started read-only.",
        "页面以只读方式启动。",
        "読み取り専用で起動されています。",
        "읽기 전용으로 시작했습니다.",
    ),
    "opening": ("Opening …", "正在打开……", "開いています…", "여는 중…"),
    "not_found": ("Not there", "不存在", "ありません", "없습니다"),
    "failed": ("It did not work", "操作失败", "失敗しました", "실패했습니다"),
    "unknown_user": (
        "Nothing was ever stored for this user.",
        "此用户没有任何存储内容。",
        "このユーザーの記録はありません。",
        "이 사용자에 대해 저장된 것이 없습니다.",
    ),
}

_PLACES: Final = {tag: place for place, tag in enumerate(LANGUAGES)}


def text(language: str, key: str, **values: object) -> str:
    """Return a text of the interface, with its values.

    Numbers are grouped by thousands.
    """
    words = TEXTS[key][_PLACES[language]]
    if not values:
        return words
    return words.format(
        **{
            name: f"{value:,}" if isinstance(value, int) else value
            for name, value in values.items()
        }
    )


def chosen_language(asked: str | None, accepted: str) -> str:
    """Return the language of a page.

    Args:
        asked: what its address says.
        accepted: what the browser says, as in ``Accept-Language``.
    """
    if asked is not None and asked in LANGUAGES:
        return asked
    for each in accepted.split(",")[:20]:
        tag = each.partition(";")[0].strip().lower().partition("-")[0]
        if tag in LANGUAGES:
            return tag
    return "en"
