variable "name" {
  description = "Name of everything that is made."
  type        = string
  default     = "gateway"
}

variable "image" {
  description = "Image of the gateway, with its tag or digest."
  type        = string
}

variable "vpc_id" {
  type = string
}

variable "public_subnet_ids" {
  description = "Subnets of the load balancer, in two zones or more."
  type        = list(string)
}

variable "private_subnet_ids" {
  description = "Subnets of the tasks, with a route to the internet."
  type        = list(string)
}

variable "certificate_arn" {
  description = "Certificate of the public name."
  type        = string
}

variable "allowed_cidr_blocks" {
  description = "Who may call the gateway."
  type        = list(string)
}

variable "database_url" {
  description = "Address of a libSQL server: http(s):// or libsql://."
  type        = string
}

variable "secret_arn" {
  description = "A secret whose JSON has GATEWAY_MASTER_KEYS, BOOTSTRAP_ADMIN_KEY, BOOTSTRAP_WORKSPACE_KEY, DATABASE_AUTH_TOKEN and REDIS_URL."
  type        = string
}

variable "environment" {
  description = "Further variables of the gateway."
  type        = map(string)
  default     = {}
}

variable "tasks" {
  type    = number
  default = 2
}

variable "cpu" {
  type    = number
  default = 1024
}

variable "memory" {
  type    = number
  default = 2048
}
