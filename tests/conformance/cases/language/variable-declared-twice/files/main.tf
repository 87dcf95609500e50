variable "tier" {
  type  = string
  const = true
}

variable "tier" {
  type  = string
  const = true
}
