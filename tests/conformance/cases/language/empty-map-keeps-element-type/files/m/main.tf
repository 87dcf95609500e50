variable "any" {
  type = map(any)
}

variable "inner" {
  type = map(map(any))
}

variable "object" {
  type = object({ of = map(any) })
}

output "any" {
  value = var.any
}

output "inner" {
  value = var.inner
}

output "object" {
  value = var.object
}
