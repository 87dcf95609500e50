terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "name" {
  type    = string
  default = null
}

variable "sizes" {
  type    = list(number)
  default = []
}

variable "mode" {
  type    = string
  default = "loud"
  validation {
    condition     = contains(["loud", "quiet"], var.mode)
    error_message = "The mode must be loud or quiet."
  }
}


resource "lab_thing" "off" {
  count = var.name == null ? 0 : 1
  name  = var.name
  size  = var.sizes[0]
}

resource "lab_thing" "each" {
  for_each = { for size in var.sizes : size => size }
  name     = upper(var.name)
}

output "first" {
  value = try(lab_thing.off[0].name, null)
}

output "second" {
  value = length(var.sizes) > 0 ? var.sizes[0] : null
}
