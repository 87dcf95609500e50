
variable "id" {
  type = string
  validation {
    condition     = length(var.id) < 3
    error_message = "bad ${regex("zzz", var.id)}"
  }
  validation {
    condition     = length(var.id) > 3
    error_message = length(var.id) > 3 ? null : "bad"
  }
}
