variable "one" {}
