// The tagger's file inside the library, so that nothing is looked for at run time.
  .section .rodata
  .global casemate_english_tagger
  .global casemate_english_tagger_end
  .balign 64
casemate_english_tagger:
  .incbin CASEMATE_ENGLISH_TAGGER_FILE
casemate_english_tagger_end:
  .section .note.GNU-stack,"",%progbits
