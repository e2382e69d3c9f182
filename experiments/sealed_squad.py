"""Writes what docs/defences/fingerprint.md measures with: python3 experiments/sealed_squad.py DEV_V1_1_ZIP FOLDER [SHARE]

trusted.json and untrusted.json: the passages of SQuAD's development set, SHARE of them (default 0) in the second.
untrusted_questions.json: at most 300 questions whose passage is in the second.
q100.json: 100 questions. poison.jsonl: for each its gold passage with the answer changed to another question's.
poison_with_question.jsonl: the same after the question itself, so that they rank first.
"""
import copy
import json
import pathlib
import random
import sys
import zipfile

archive, folder, share = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2]), float((sys.argv[3:] or [0])[0])
data = json.loads(archive.read(archive.namelist()[0]))
folder.mkdir(parents=True, exist_ok=True)
questions = [(qa["question"], qa["id"], paragraph["context"], qa["answers"][0]["text"]) for article in data["data"]
             for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
random.seed(42)
picked = random.sample(questions, 100)
answers = [question[3] for question in questions]


def write(name, keeps_paragraph=lambda paragraph: True, keeps_question=lambda qa: True):
    part = copy.deepcopy(data)
    for article in part["data"]:
        article["paragraphs"] = [paragraph for paragraph in article["paragraphs"] if keeps_paragraph(paragraph)]
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = [qa for qa in paragraph["qas"] if keeps_question(qa)]
    (folder / name).write_text(json.dumps(part))


chosen = {question[1] for question in picked}
write("q100.json", keeps_question=lambda qa: qa["id"] in chosen)
poison = []
for number, (question, _, context, answer) in enumerate(picked):
    wrong = random.choice([other for other in answers if other != answer])
    poison.append((f"poison-{number}", question, context.replace(answer, wrong)))
for name, before in (("poison.jsonl", False), ("poison_with_question.jsonl", True)):
    with open(folder / name, "w") as out:
        for identity, question, text in poison:
            out.write(json.dumps({"_id": identity, "text": question + " " + text if before else text}) + "\n")
contexts = sorted({question[2] for question in questions})
untrusted = set(random.sample(contexts, round(share * len(contexts))))
write("trusted.json", lambda paragraph: paragraph["context"] not in untrusted)
write("untrusted.json", lambda paragraph: paragraph["context"] in untrusted)
about_untrusted = [question[1] for question in questions if question[2] in untrusted]
asked = set(random.sample(about_untrusted, min(300, len(about_untrusted))))
write("untrusted_questions.json", keeps_question=lambda qa: qa["id"] in asked)
