variable "needed" {
}
