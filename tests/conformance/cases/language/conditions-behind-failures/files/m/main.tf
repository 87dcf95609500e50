variable "zone" {
  type = string
  validation {
    condition     = startswith(var.zone, "zone")
    error_message = "not a zone: ${var.zone}"
  }
}
output "zone" {
  value = var.zone
  precondition {
    condition     = length(var.zone) == 6
    error_message = "length"
  }
}
