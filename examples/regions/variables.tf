variable "regions" {
  description = "The regions by name: the first two bytes of their addresses, and what is built in them."
  type = map(object({
    prefix    = string
    subnets   = optional(number, 3)
    instances = optional(number, 40)
    size      = optional(string, "small")
  }))
  default = {
    "ap-south"   = { prefix = "10.10" }
    "eu-central" = { prefix = "10.20", size = "medium" }
    "eu-north"   = { prefix = "10.30" }
    "sa-east"    = { prefix = "10.40" }
    "us-east"    = { prefix = "10.50", size = "large" }
    "us-west"    = { prefix = "10.60" }
  }
}

variable "leaving" {
  description = "Regions to empty. Take them out of var.regions once that is applied."
  type        = set(string)
  default     = []
}

variable "image" {
  description = "What the instances boot from. Another image makes new instances."
  type        = string
  default     = "base-2026.11"
}

variable "admin_password" {
  description = "What the administrators' passwords are made from."
  type        = string
  default     = "only-for-a-simulated-cloud"
  sensitive   = true
}
