variable "name" {
  description = "The region's name."
  type        = string
}

variable "prefix" {
  description = "The first two bytes of the region's addresses."
  type        = string

  validation {
    condition     = length(split(".", var.prefix)) == 2
    error_message = "The prefix is two bytes, such as 10.20."
  }
}

variable "subnets" {
  description = "How many subnets."
  type        = number
}

variable "instances" {
  description = "How many instances, over all subnets."
  type        = number
}

variable "size" {
  description = "The size of the instances."
  type        = string
}

variable "image" {
  description = "What the instances boot from."
  type        = string
}

variable "admin_password" {
  description = "What the administrators' passwords are made from."
  type        = string
  sensitive   = true
}
