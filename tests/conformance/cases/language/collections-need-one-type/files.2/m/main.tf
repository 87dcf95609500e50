variable "s" { type = set(object({ e = optional(any) })) }
